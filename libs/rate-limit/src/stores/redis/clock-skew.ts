import { Logger } from '@nestjs/common';

/** How often the clocks are compared. */
const INTERVAL_MS = 10_000;
/** The wall clock is read in whole milliseconds. */
const RESOLUTION_MS = 1;
/** An answer this certain that shows no skew is well, also where half of maxSkewMs is less. */
const PRECISE_MS = 10;

type State = 'well' | 'near' | 'beyond';

/** What the comparison reads, writes and waits by; tests replace it. */
export interface ClockSkewSettings {
  readonly maxSkewMs: number;
  /** Asks Redis for its `TIME`: seconds and microseconds. */
  readonly time: () => Promise<unknown>;
  readonly logger?: Pick<Logger, 'warn' | 'log'>;
  /** Milliseconds since 1970 by this process's clock. */
  readonly wallMs?: () => number;
  /** Milliseconds of a clock that never steps. */
  readonly monotonicMs?: () => number;
}

/**
 * Compares this process's clock with Redis's, for `clock: 'app'`, and warns before the skew between processes can pass
 * `maxSkewMs`: while each process is within half of it of Redis's clock, no two of them are further apart than all of it.
 *
 * Redis read its clock at some time between the question and the answer. What the round trip leaves uncertain counts neither
 * as skew nor as its absence, so a slow answer changes nothing.
 */
export class ClockSkew {
  private readonly logger: Pick<Logger, 'warn' | 'log'>;
  private readonly wallMs: () => number;
  private readonly monotonicMs: () => number;
  private state: State = 'well';
  private saidRefused = false;

  constructor(private readonly settings: ClockSkewSettings) {
    this.logger = settings.logger ?? new Logger('RateLimit');
    this.wallMs = settings.wallMs ?? Date.now;
    this.monotonicMs = settings.monotonicMs ?? (() => performance.now());
  }

  /** Compares once. Never rejects: a Redis that does not answer is reported elsewhere. */
  async check(): Promise<void> {
    const since = this.monotonicMs();
    let reply: unknown;
    try {
      reply = await this.settings.time();
    } catch (error) {
      this.refused(error as Error);
      return;
    }
    const halfMs = (this.monotonicMs() - since) / 2;
    const redisMs = msOf(reply);
    if (redisMs === undefined) return;
    this.told(this.wallMs() - halfMs - redisMs, halfMs + RESOLUTION_MS);
  }

  private told(aheadMs: number, uncertainMs: number): void {
    const { maxSkewMs } = this.settings;
    const [least, most] = [Math.abs(aheadMs) - uncertainMs, Math.abs(aheadMs) + uncertainMs];
    const was = this.state;
    if (least > maxSkewMs) this.state = 'beyond';
    else if (least > maxSkewMs / 2) this.state = was === 'beyond' && most > maxSkewMs ? 'beyond' : 'near';
    else if (most <= maxSkewMs / 2 || (least <= 0 && uncertainMs <= PRECISE_MS)) this.state = 'well';
    if (this.state === was) return;
    const skew = `This process's clock is ${Math.round(Math.abs(aheadMs))} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} Redis's clock`;
    if (this.state === 'well') {
      this.logger.log(`${skew}, which is well within maxSkewMs (${maxSkewMs} ms) again`);
    } else if (this.state === 'near') {
      this.logger.warn(
        `${skew}, more than half of maxSkewMs (${maxSkewMs} ms): processes may differ by more than all of it`,
      );
    } else {
      this.logger.warn(`${skew}, more than maxSkewMs (${maxSkewMs} ms): limits may admit more than they should`);
    }
  }

  private refused({ message }: Error): void {
    if (this.saidRefused || !message.startsWith('NOPERM')) return;
    this.saidRefused = true;
    this.logger.warn(`clock: 'app' is not compared with Redis's clock, which needs the right +time: ${message}`);
  }
}

/** What a connection has to have for its clock to be asked. */
interface TimeConnection {
  time?(): Promise<unknown>;
  on(event: 'ready' | 'close', listener: () => void): unknown;
}

/** Compares the clocks whenever the connection is made, and every 10 s while it lasts. */
export function watchClock(connection: TimeConnection, maxSkewMs: number): void {
  if (typeof connection.time !== 'function') return;
  const skew = new ClockSkew({ maxSkewMs, time: () => connection.time!() });
  let timer: NodeJS.Timeout | undefined;
  connection.on('ready', () => {
    clearInterval(timer);
    void skew.check();
    timer = setInterval(() => void skew.check(), INTERVAL_MS).unref();
  });
  connection.on('close', () => clearInterval(timer));
}

function msOf(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const ms = Number(reply[0]) * 1000 + Number(reply[1]) / 1000;
  return Number.isFinite(ms) ? ms : undefined;
}
