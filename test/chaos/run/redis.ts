import { connect, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { ClockedRedis } from '../../support/faults/clocked-redis.js';
import { now } from '../clock.js';

/** A Redis user for the run, so that faults of the pods' connections, rights and password do not concern it. */
const OPERATOR = 'operator';
const ARGS = `--user ${OPERATOR} on >${OPERATOR} ~* &* +@all --enable-debug-command yes --enable-protected-configs yes`;
const RECONNECT_MS = 10;

/** A loss of the keys or a step of the clock, which happened between `from` and `to`. */
export interface Turn {
  readonly kind: 'keys lost' | 'clock steps';
  /** The machine's clock (`now()`). */
  readonly from: number;
  readonly to: number;
  /** Redis's clock in microseconds, when the same transaction read it. */
  readonly at?: number;
  /** How far Redis's clock is ahead of the machine's from then on, in milliseconds. */
  readonly aheadMs: number;
}

/** The server of a run, a client of its operator, and the charges of every key, from MONITOR. */
export class ChaosRedis implements AsyncDisposable {
  readonly turns: Turn[] = [];
  /** The number of writes to each key that belongs to one request. */
  readonly writes = new Map<string, number>();
  aheadMs = 0;
  private monitor: Socket | undefined;
  private closed = false;

  private constructor(
    readonly clocked: ClockedRedis,
    readonly operator: Redis,
  ) {}

  static async start(): Promise<ChaosRedis> {
    const clocked = await ClockedRedis.start(ARGS.split(' '));
    const { host, port } = clocked.server;
    const operator = new Redis({
      host,
      port,
      username: OPERATOR,
      password: OPERATOR,
      retryStrategy: () => RECONNECT_MS,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
    });
    operator.on('error', () => undefined); // The server is there to be killed.
    await operator.ping();
    const redis = new ChaosRedis(clocked, operator);
    redis.watch();
    return redis;
  }

  get port(): number {
    return this.clocked.server.port;
  }

  async flush(): Promise<void> {
    const from = now();
    // The transaction keeps other decisions from between the two commands.
    const replies = await this.operator.multi().call('TIME').flushall().exec();
    const [seconds, micros] = replies![0]![1] as [string, string];
    const at = Number(seconds) * 1_000_000 + Number(micros);
    this.turns.push({ kind: 'keys lost', from, to: now(), at, aheadMs: this.aheadMs });
  }

  /** @param downMs settles when Redis shall start again, without its keys */
  async kill(downMs: Promise<unknown>): Promise<void> {
    const from = now();
    await this.clocked.server.kill();
    const to = now();
    this.turns.push({ kind: 'keys lost', from, to, aheadMs: this.aheadMs });
    await downMs;
    await this.clocked.server.restart();
  }

  jumpTo(aheadMs: number): void {
    const from = now();
    this.clocked.setAhead(aheadMs);
    this.aheadMs = aheadMs;
    this.turns.push({ kind: 'clock steps', from, to: now(), aheadMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    this.monitor?.destroy();
    this.operator.disconnect();
    await this.clocked[Symbol.asyncDispose]();
  }

  /** Watches MONITOR, and connects again after each restart of the server. */
  private watch(): void {
    if (this.closed) return;
    const socket = connect(this.port, '127.0.0.1');
    this.monitor = socket;
    socket.setEncoding('latin1');
    socket.write(`AUTH ${OPERATOR} ${OPERATOR}\r\nMONITOR\r\n`);
    let rest = '';
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) this.note(line);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => setTimeout(() => this.watch(), RECONNECT_MS));
  }

  private note(line: string): void {
    const key = /^\+[\d.]+ \[\d+ lua\] "SET" "([^"]*(?:\{user:once-|:once:)[^"]*)"/.exec(line)?.[1];
    if (key !== undefined) this.writes.set(key, (this.writes.get(key) ?? 0) + 1);
  }
}
