// oxlint-disable-next-line typescript/triple-slash-reference -- an application that builds the library from its sources has to find it
/// <reference path="./cluster-key-slot.d.ts" />
import { hash } from 'node:crypto';
import { wallClock } from '../clock.js';
import type { Deadlines, Question } from '../deadlines.js';
import type { Monitor } from '../../metrics/monitor.js';
import type { DenialCache } from '../../limiter/denial-cache.js';
import {
  type Charge,
  type Clock,
  type RateLimitStore,
  RateLimitStoreError,
  type ChargeReceipt,
  type Verdict,
} from '../store.js';
import { shown } from '../../util/config-error.js';
import { PROGRAM } from './program.generated.js';
import calculateSlot from 'cluster-key-slot';
import { CrossSlot, isSharded } from './cross-slot.js';
import { isRedisClient, type RedisClient } from './redis-client.js';
import { Batch, type PendingRequest } from './batch.js';

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
  /** @internal Fails what Redis does not answer in time. Without it a question waits as long as the client does. */
  deadlines?: Deadlines;
  /** @internal Where denials are noted. */
  denials?: DenialCache;
  /** @internal Who counts calls and failed probes. */
  monitor?: Monitor;
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
  /** Microseconds. */
  private readonly maxSkew: number;
  /** What the client puts before every key; a Cluster's slots depend on it. */
  private readonly keyPrefix: string;
  private readonly deadlines: Deadlines | undefined;
  private readonly denials: DenialCache | undefined;
  /** Only on a Cluster. */
  private readonly crossSlot: CrossSlot | undefined;
  private readonly monitor: Monitor | undefined;
  /** What this turn of the event loop has brought so far; empty between turns. */
  private batches: Batch[] = [];
  /** The batch that takes the next request: one for each slot on a Cluster, where a call's keys have to share it. */
  private open = new Map<number, Batch>();
  /** Slices that were sent and not answered. */
  private inFlight = 0;
  /** Whether the last flush carried one request alone. */
  private alone = true;

  /**
   * @throws {TypeError} when the client is not one
   * @throws {RangeError} when an option is out of its range
   */
  constructor(
    private readonly client: RedisClient,
    options: RedisStoreOptions = {},
  ) {
    const { clock = 'redis', maxSkewMs = 1000 } = options;
    if (!isRedisClient(client)) throw new TypeError('RedisStore: takes a client with evalsha, eval and del');
    if (clock !== 'redis' && clock !== 'app' && typeof clock !== 'function') {
      throw new RangeError(`RedisStore: clock must be 'redis', 'app' or a function, got ${shown(clock)}`);
    }
    if (!(maxSkewMs >= 0 && maxSkewMs <= MAX_SKEW_MS && Number.isInteger(maxSkewMs * 1000))) {
      throw new RangeError(`RedisStore: maxSkewMs must be 0 to ${MAX_SKEW_MS} milliseconds, got ${maxSkewMs}`);
    }
    this.deadlines = options.deadlines;
    this.denials = options.denials;
    if (client.isCluster === true) this.crossSlot = new CrossSlot(this, this.deadlines, this.denials);
    this.monitor = options.monitor;
    if (clock !== 'redis') this.clock = clock === 'app' ? wallClock : clock;
    this.keyPrefix = client.options?.keyPrefix ?? '';
    this.maxSkew = this.clock === undefined ? 0 : maxSkewMs * 1000;
  }

  consume(charges: readonly Charge[]): Promise<Verdict> {
    if (this.crossSlot !== undefined && !this.sharesSlot(charges)) return this.crossSlot.decide(charges);
    return new Promise((resolve, reject) => this.enqueue({ charges, resolve, reject, next: undefined }));
  }

  async reset(keys: readonly string[]): Promise<void> {
    this.flush(); // what was asked before the reset is decided before it
    await Promise.all(keys.map((key) => this.client.del(key))); // one by one: their slots may differ
  }

  /** Sent once and never again: a charge whose give-back is lost stays. */
  async refund(taken: readonly ChargeReceipt[]): Promise<void> {
    // One by one: their slots may differ.
    await Promise.allSettled(
      taken.map(async ({ key, algorithm, cost, at, resetAt }) => {
        const policy = `[["${algorithm.name}",${cost},${cost},${algorithm.wire.join()}]]`;
        const args = [textOf(this.clock?.()), String(this.maxSkew), policy, '', `[[${at},${resetAt}]]`];
        return this.client.evalsha(SHA1, 1, key, ...args);
      }),
    );
  }

  /** @internal Puts a request whose keys share a slot into a batch. */
  enqueue(pending: PendingRequest): void {
    const slot = this.crossSlot === undefined ? 0 : this.slotOf(pending.charges[0]!.key);
    if (this.open.get(slot)?.add(pending) === true) return;
    if (this.batches.length === 0) this.schedule();
    const batch = new Batch(slot);
    batch.add(pending);
    this.batches.push(batch);
    this.open.set(slot, batch);
  }

  /** @internal Of a Cluster. */
  slotOf(key: string): number {
    return calculateSlot(`${this.keyPrefix}${key}`);
  }

  private sharesSlot(charges: readonly Charge[]): boolean {
    if (isSharded(charges[0]!)) return false;
    if (charges.length === 1) return true;
    const slot = this.slotOf(charges[0]!.key);
    return charges.every((charge) => !isSharded(charge) && this.slotOf(charge.key) === slot);
  }

  /**
   * The check phase follows the poll phase: whatever its callbacks bring until then is in the same turn. One request at a time
   * would only wait for it: while requests come alone, and Redis has nothing to do, the end of the callback is late enough.
   */
  private schedule(): void {
    if (this.alone && this.inFlight === 0) process.nextTick(() => this.flush());
    else setImmediate(() => this.flush());
  }

  private flush(): void {
    const { batches } = this;
    if (batches.length === 0) return; // a reset was quicker
    this.batches = [];
    // Not cleared: V8 links a map's old table to its new one, so that an old one in a heap's old space would keep all that come after.
    this.open = new Map();
    this.alone = batches.length === 1 && batches[0]!.size === 1;
    for (const batch of batches) void this.send(batch);
  }

  /** Never rejects: every request of the batch gets its own answer, once; what comes after it is nobody's. */
  private async send(batch: Batch): Promise<void> {
    let late = false;
    const question = this.deadlines?.ask((error) => {
      late = true;
      this.inFlight--; // Redis may never answer
      batch.fail(this.failed(error, batch));
      if (this.crossSlot === undefined) batch.forget(); // on a Cluster what was charged late is given back
    });
    const sentAt = performance.now();
    this.inFlight++;
    this.monitor?.batch(batch.size);
    try {
      const reply = await this.evaluate(batch, question);
      this.answered(batch);
      if (!late || this.crossSlot !== undefined) batch.settle(reply, this.denials, sentAt);
    } catch (error) {
      if (!late) batch.fail(this.failed(error as Error, batch));
    }
    if (late) return;
    this.inFlight--;
    if (question !== undefined) this.deadlines?.answered(question);
  }

  /** Called when Redis has answered a batch. */
  protected answered(_batch: Batch): void {}

  /** Called once when it has not, or not in time; returns what the requests fail with. */
  protected failed(error: Error, _batch: Batch): RateLimitStoreError {
    if (error instanceof RateLimitStoreError) return error;
    return new RateLimitStoreError(`Redis did not decide: ${error.message}`, { cause: error });
  }

  protected async evaluate(batch: Batch, question?: Question): Promise<readonly number[]> {
    const keys = batch.encodeKeys();
    const now = this.clock?.();
    const args = [...keys, textOf(now), String(this.maxSkew), ...batch.encodeArguments()];
    let reply: unknown;
    try {
      reply = await this.client.evalsha(SHA1, keys.length, ...args);
    } catch (error) {
      // Redis has forgotten the script (flushed, restarted, failed over) and so has run nothing: the only error after which
      // sending again cannot charge twice.
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      // Once it has expired, the requests have their answers, and nobody is to be charged for them.
      if (question !== undefined && this.deadlines?.sendAgain(question) === false) throw error;
      reply = await this.client.eval(PROGRAM, keys.length, ...args);
    }
    batch.check(reply, now, this.maxSkew);
    return reply;
  }
}

/** ARGV[1] of the program. */
function textOf(now: number | undefined): string {
  return now === undefined ? 'redis' : String(now);
}
