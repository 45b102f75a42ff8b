import { hash } from 'node:crypto';
import { wallClock } from '../clock.js';
import { type Charge, type Clock, type RateLimitStore, RateLimitStoreError, type Verdict } from '../store.js';
import { PROGRAM } from './program.generated.js';
import type { RedisClient } from './redis-client.js';
import { Slice } from './slice.js';

export interface RedisStoreOptions {
  /**
   * Whose time decides: `'redis'` (default) the server's, so that the pods' clocks do not matter; `'app'` the wall clock of
   * each pod; or a clock of your own, as tests have one.
   */
  clock?: 'redis' | 'app' | Clock;
  /**
   * How far the clocks of pods may be apart, in milliseconds: 0 to 10,000, default 1,000. Only for a clock that is not
   * Redis's. The limits then hold up to what the skew lets through.
   */
  maxSkewMs?: number;
}

const MAX_SKEW_MS = 10_000;
const SHA1 = hash('sha1', PROGRAM);

/**
 * Decides in Redis, atomically for all pods, by one Lua program. The requests of an event-loop turn travel together.
 *
 * The client is used as it is and not closed.
 */
export class RedisStore implements RateLimitStore {
  private readonly clock: Clock | undefined;
  private readonly maxSkew: string;
  /** What this turn of the event loop has brought so far; empty between turns. */
  private slices: Slice[] = [];

  /** @throws {RangeError} when an option is out of its range */
  constructor(
    private readonly client: RedisClient,
    options: RedisStoreOptions = {},
  ) {
    const { clock = 'redis', maxSkewMs = 1000 } = options;
    if (!(maxSkewMs >= 0 && maxSkewMs <= MAX_SKEW_MS && Number.isInteger(maxSkewMs * 1000))) {
      throw new RangeError(`RedisStore: maxSkewMs must be 0 to ${MAX_SKEW_MS} milliseconds, got ${maxSkewMs}`);
    }
    if (clock !== 'redis') this.clock = clock === 'app' ? wallClock : clock;
    this.maxSkew = this.clock === undefined ? '0' : String(maxSkewMs * 1000);
  }

  consume(charges: readonly Charge[]): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (this.slices.at(-1)?.add(charges, waiter)) return;
      // The check phase follows the poll phase: whatever its callbacks bring until then is in the same turn.
      if (this.slices.length === 0) setImmediate(() => this.flush());
      const slice = new Slice();
      slice.add(charges, waiter);
      this.slices.push(slice);
    });
  }

  async reset(keys: readonly string[]): Promise<void> {
    this.flush(); // what was asked before the reset is decided before it
    await Promise.all(keys.map((key) => this.client.del(key))); // one by one: their slots may differ
  }

  private flush(): void {
    const { slices } = this;
    this.slices = [];
    for (const slice of slices) void this.send(slice);
  }

  /** Never rejects: every request of the slice gets its own answer. */
  private async send(slice: Slice): Promise<void> {
    try {
      slice.settle(await this.evaluate(slice));
    } catch (error) {
      slice.fail(new RateLimitStoreError(`Redis did not decide: ${(error as Error).message}`, { cause: error }));
    }
  }

  private async evaluate(slice: Slice): Promise<number[]> {
    const keys = slice.encodeKeys();
    const now = this.clock === undefined ? 'redis' : String(this.clock());
    const args = [...keys, now, this.maxSkew, ...slice.encodeArguments()];
    try {
      return (await this.client.evalsha(SHA1, keys.length, ...args)) as number[];
    } catch (error) {
      // Redis has forgotten the script (flushed, restarted, failed over) and so has run nothing: the only error after which
      // sending again cannot charge twice.
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return (await this.client.eval(PROGRAM, keys.length, ...args)) as number[];
    }
  }
}
