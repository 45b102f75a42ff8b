import { getHeapStatistics } from 'node:v8';
import { monotonicClock } from '../clock.js';
import { type Charge, takes } from '../charge.js';
import { judge } from '../judge.js';
import type { ChargeReceipt } from '../receipt.js';
import type { Clock, RateLimitStore, Verdict } from '../store.js';
import { Entries, type Held } from './entries.js';

export interface MemoryStoreOptions {
  /** Keys kept at most: a whole number from 1, default 1,000,000; see `MemoryStore` for what happens beyond it. */
  maxKeys?: number;
  /**
   * Bytes that the keys and their states may take: a whole number from 1, default a quarter of V8's heap limit. They are
   * estimated, rather too high than too low; `bytes` tells the estimate.
   */
  maxBytes?: number;
  /** Microseconds since 1970; default a clock that never steps. */
  clock?: Clock;
  /** Milliseconds that a stored instant may lie ahead of the clock before it is rebased; default 0. */
  maxSkewMs?: number;
}

/** As in Redis with the application's clock. */
const MINUTE = 60_000_000;
/** The part of V8's heap that a store takes at most, unless it is told otherwise. */
const PART_OF_HEAP = 1 / 4;

function defaultBytes(): number {
  return Math.floor(getHeapStatistics().heap_size_limit * PART_OF_HEAP);
}

/**
 * The in-process store: decides as `RedisStore` does, for one process. With several processes each counts for itself, so
 * that a client gets its limit once from every one of them.
 *
 * Expired keys are swept a few at a time with the charges, so there is no timer at all. At `maxKeys` and at
 * `maxBytes`, a key that is not known makes room for itself by one of the next 8 entries in turn, whichever is the least
 * loss: one that has expired; one of which an eighth of its limit or less is taken, and which was asked for only once or not within a minute; one that was not
 * asked for within a minute, the one least recently asked for first; any other of which an eighth or less is taken. A log, which
 * grows with each charge, makes room in the same way, by 32 entries at most. So many looks and no more, however many keys
 * there are.
 *
 * If none of them is to be given up, all are active, and the key gets no state of its own: all such keys share one state for
 * each policy, as if they were one client, until there is room. Who invents identities gets one limit for all of them
 * together then, and no client loses what it has taken: `overflowed` counts the decisions that were made so. A log that has
 * no room to grow keeps what it has, and what it would let pass is charged to the shared state instead. Shared states count
 * as the others do, but their logs grow even where there is no room: by 12 bytes for each unit of a policy's limit.
 *
 * @example
 * ```ts
 * const store = new MemoryStore({ maxKeys: 100_000 }); // some 30 MB, if they are buckets or windows
 * RateLimitModule.forRoot({ store });
 * ```
 */
export class MemoryStore implements RateLimitStore {
  private readonly entries: Entries;
  private readonly clock: Clock;
  private readonly maxSkew: number;

  /** @throws {RangeError} when an option is out of its range */
  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = 1_000_000, maxBytes = defaultBytes(), clock = monotonicClock, maxSkewMs = 0 } = options;
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
      throw new RangeError(`MemoryStore: maxKeys must be a whole number from 1, got ${maxKeys}`);
    }
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) {
      throw new RangeError(`MemoryStore: maxBytes must be a whole number from 1, got ${maxBytes}`);
    }
    if (!(maxSkewMs >= 0 && Number.isInteger(maxSkewMs * 1000))) {
      throw new RangeError(`MemoryStore: maxSkewMs must be milliseconds from 0, got ${maxSkewMs}`);
    }
    this.clock = clock;
    this.maxSkew = maxSkewMs * 1000;
    const spare = clock === monotonicClock ? 0 : MINUTE;
    this.entries = new Entries({ maxKeys, maxBytes, spare, maxSkew: this.maxSkew });
  }

  /** How many keys are kept, expired ones that were not swept yet included. */
  get size(): number {
    return this.entries.size;
  }

  /** Bytes that the keys and their states take, estimated. */
  get bytes(): number {
    return this.entries.bytes;
  }

  /** How many decisions were made on a state that keys without room share, since the store was made. */
  get overflowed(): number {
    return this.entries.overflowed;
  }

  consume(charges: readonly Charge[]): Verdict {
    const now = this.clock();
    this.entries.begin(now);
    const held = [this.hold(charges[0]!)];
    for (let i = 1; i < charges.length; i++) held.push(this.hold(charges[i]!));
    // An evicted entry must neither be written to nor read again: so the room is made before anything is read.
    if (this.entries.mayNeedRoom(held)) this.entries.makeRoom(held, now);
    for (let i = 0; i < held.length; i++) this.read(held[i]!, now);
    const verdict = judge(held, now);
    for (let i = 0; i < held.length; i++) {
      if ((verdict.allowed && takes(charges[i]!)) || this.isAhead(held[i]!, now)) this.write(held[i]!, now);
    }
    this.entries.tidy(now); // after the last write: a forgotten entry must not be written to
    return verdict;
  }

  reset(keys: readonly string[]): void {
    for (const key of keys) this.entries.delete(key);
  }

  refund(receipts: readonly ChargeReceipt[]): void {
    const now = this.clock();
    for (const { key, algorithm, cost, at, resetAt } of receipts) {
      const entry = this.entries.get(key);
      // When the clock has stepped back, the charge cannot be found any more.
      if (entry?.state === undefined || algorithm.isAhead(entry.state, now, this.maxSkew)) continue;
      const before = algorithm.sizeOf(entry.state);
      algorithm.refund(entry.state, now, cost, at, resetAt);
      this.entries.grown(algorithm.sizeOf(entry.state) - before);
    }
  }

  private hold(charge: Charge): Held {
    return { charge, entry: this.entries.get(charge.key), level: undefined };
  }

  private read(held: Held, now: number): void {
    const { charge, entry } = held;
    if (entry !== undefined) this.entries.touch(entry, charge.algorithm);
    held.level = charge.algorithm.read(entry?.state, now, this.maxSkew);
  }

  private isAhead({ charge, entry }: Held, now: number): boolean {
    return entry?.state !== undefined && charge.algorithm.isAhead(entry.state, now, this.maxSkew);
  }

  private write({ charge: { key, algorithm }, entry, level }: Held, now: number): void {
    if (entry === undefined) {
      this.entries.add(key, algorithm, algorithm.write(level, now, undefined), algorithm.expiresAt(level, now));
      return;
    }
    const before = algorithm.bytesPerCost > 0 ? algorithm.sizeOf(entry.state) : 0; // the state may be written in place
    entry.state = algorithm.write(level, now, entry.state);
    entry.expiresAt = algorithm.expiresAt(level, now);
    if (before > 0) this.entries.grown(algorithm.sizeOf(entry.state) - before);
    this.entries.charged();
  }
}
