import { withHelp } from '../../../util/error-codes.js';
import type { Logger } from '../../../util/logger.js';
import { unheld } from '../../../util/runtime.js';
import type { OwnedClient } from '../clients/client.js';
import { unawaited } from '../../../util/unawaited.js';

/** Time between two comparisons. */
const INTERVAL_MS = 10_000;
/** The wall clock is read in whole milliseconds. */
const RESOLUTION_MS = 1;
/** An answer of this precision that shows no skew counts as well, even if half of maxSkew is less. */
const PRECISE_MS = 10;

type State = 'well' | 'near' | 'beyond';

export interface ClockSkewSettings {
  readonly maxSkewMs: number;
  /** Sends `TIME` to Redis: seconds and microseconds. */
  readonly time: () => Promise<unknown>;
  readonly logger: Pick<Logger, 'warn' | 'log'>;
  /** Milliseconds since 1970 by this process's clock. */
  readonly wallMs?: () => number;
  /** Milliseconds of a clock that never steps. */
  readonly monotonicMs?: () => number;
}

/**
 * Compares this process's clock with Redis's, for `clock: 'app'`. It warns before the skew between processes can exceed
 * `maxSkew`: if each process is within half of `maxSkew` of Redis's clock, no two processes are further apart than that.
 *
 * Redis reads its clock at some instant of the round trip. This uncertainty counts neither as skew nor as its absence, so a slow
 * answer changes nothing.
 */
export class ClockSkew {
  private readonly logger: Pick<Logger, 'warn' | 'log'>;
  private readonly wallMs: () => number;
  private readonly monotonicMs: () => number;
  private state: State = 'well';
  private saidForbidden = false;

  constructor(private readonly settings: ClockSkewSettings) {
    this.logger = settings.logger;
    this.wallMs = settings.wallMs ?? Date.now;
    this.monotonicMs = settings.monotonicMs ?? (() => performance.now());
  }

  /** Compares once. Never rejects: the store's breaker reports a Redis that does not answer. */
  async check(): Promise<void> {
    const since = this.monotonicMs();
    let reply: unknown;
    try {
      reply = await this.settings.time();
    } catch (error) {
      this.forbidden(error as Error);
      return;
    }
    const halfMs = (this.monotonicMs() - since) / 2;
    const redisMs = msOf(reply);
    if (redisMs === undefined) return;
    this.judge(this.wallMs() - halfMs - redisMs, halfMs + RESOLUTION_MS);
  }

  private judge(aheadMs: number, uncertainMs: number): void {
    const { maxSkewMs } = this.settings;
    const [least, most] = [Math.abs(aheadMs) - uncertainMs, Math.abs(aheadMs) + uncertainMs];
    const was = this.state;
    if (least > maxSkewMs) this.state = 'beyond';
    else if (least > maxSkewMs / 2) this.state = was === 'beyond' && most > maxSkewMs ? 'beyond' : 'near';
    else if (most <= maxSkewMs / 2 || (least <= 0 && uncertainMs <= PRECISE_MS)) this.state = 'well';
    if (this.state === was) return;
    const skew = `The clock of this process is ${Math.round(Math.abs(aheadMs))} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} Redis's clock`;
    if (this.state === 'well') {
      this.logger.log(`${skew}: within half of maxSkew (${maxSkewMs} ms) again`);
    } else if (this.state === 'near') {
      this.logger.warn(
        withHelp(
          `${skew}, more than half of maxSkew (${maxSkewMs} ms): two processes may differ by more than maxSkew`,
          'FG_CLOCKS_DIFFER',
        ),
      );
    } else {
      this.logger.warn(
        withHelp(`${skew}, more than maxSkew (${maxSkewMs} ms): limits may admit too much`, 'FG_CLOCKS_DIFFER'),
      );
    }
  }

  private forbidden({ message }: Error): void {
    if (this.saidForbidden || !message.startsWith('NOPERM')) return;
    this.saidForbidden = true;
    this.logger.warn(
      withHelp(
        `The clock of this process is not compared with Redis's clock, which needs the right +time: ${message}`,
        'FG_CLOCKS_DIFFER',
      ),
    );
  }
}

/** Compares the clocks when the connection is ready, and every 10 s while it lasts. */
export function watchClock(client: Pick<OwnedClient, 'command' | 'onState'>, maxSkewMs: number, logger: Logger): void {
  const skew = new ClockSkew({ maxSkewMs, logger, time: () => client.command('TIME') });
  let timer: NodeJS.Timeout | undefined;
  client.onState((state) => {
    if (state !== 'ready' && state !== 'closed') return;
    clearInterval(timer);
    if (state === 'closed') return;
    unawaited(skew.check());
    timer = unheld(setInterval(() => unawaited(skew.check()), INTERVAL_MS));
  });
}

function msOf(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const ms = Number(reply[0]) * 1000 + Number(reply[1]) / 1000;
  return Number.isFinite(ms) ? ms : undefined;
}
