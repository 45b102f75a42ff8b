import { RateLimitConfigError } from '../../util/config-error.js';
import { type Charge, remainingOf, type StateEntry, takes, tellsShortfall, waitOf } from '../charge.js';
import type { Duration } from '../../util/duration.js';
import { checkNames } from '../../util/option-rules.js';
import { checkClock, checkMaxSkew, monotonicClock } from '../clock.js';
import type { Algorithm } from '../../algorithms/core/algorithm.js';
import { bytesPerCost, sizeOf } from '../../algorithms/core/footprint.js';
import type { Block } from '../../algorithms/block/block.js';
import { judge } from '../judge.js';
import type { ChargeReceipt, ChargeSettlement, SettledCharge } from '../receipt.js';
import type { PlainVerdict } from '../plain.js';
import type { Clock, RateLimitStore, Verdict } from '../store.js';
import type { StoreTraits } from '../traits.js';
import { Entries } from './entries.js';
import { type Entry, Held, HeldBlock } from './entry.js';

export interface MemoryStoreOptions {
  /** Keys kept at most: a whole number from 1, default 1,000,000. */
  maxKeys?: number | undefined;
  /**
   * Bytes that the keys and their states may take: a whole number from 1, default a quarter of V8's heap limit, or 32 MiB where the
   * runtime does not tell it. The store
   * estimates them, rather too high than too low.
   */
  maxBytes?: number | undefined;
  /** Microseconds since 1970; default a clock that never steps. */
  clock?: Clock | undefined;
  /**
   * How far a stored instant may lie ahead of the clock before it is rebased: milliseconds or text, 0 to `'10s'`, default 0. One
   * process has one clock, so only a clock that steps back needs it.
   */
  maxSkew?: Duration | undefined;
}

/** Microseconds that expired states are kept with a clock of the application, as in Redis. */
const MINUTE = 60_000_000;
/** The default part of V8's heap that a store may take. */
const PART_OF_HEAP = 1 / 4;
/** Bytes of a heap whose limit the runtime does not tell: those of a Worker of Cloudflare. */
const UNKNOWN_HEAP = 128 * 1024 * 1024;

function defaultBytes(): number {
  // Without an import: Node would load `v8` with the package, also for applications that have no such store.
  // Other runtimes may lack the function or the module, or answer 0.
  const v8 = (process as Partial<NodeJS.Process>).getBuiltinModule?.('node:v8');
  return Math.floor((v8?.getHeapStatistics().heap_size_limit || UNKNOWN_HEAP) * PART_OF_HEAP);
}

/**
 * The in-process store. It decides as `RedisStore` does, for one process: with several processes, each gives each client the
 * whole limit.
 *
 * Every charge sweeps a few expired keys, so there is no timer. At `maxKeys` or `maxBytes`, the store looks at the next 8
 * entries in turn, and evicts the one with the least loss:
 *
 * 1. an expired one;
 * 2. one with at most an eighth of its limit taken, of a client that asked once, or not within a minute;
 * 3. one of a client that has not asked within a minute, the longest ago first;
 * 4. any other one with at most an eighth of its limit taken.
 *
 * When none of the 8 qualifies, keys without room share one state for each policy, as if they were one client. So invented
 * identities share one limit, and no client loses what it has taken. `overflowed` counts these decisions. A log without room
 * to grow keeps its entries, and further charges go to the shared state, which may exceed `maxBytes` by 12 bytes for each
 * unit of a policy's limit. A block without room is not kept: the shared state still limits its client.
 *
 * @example
 * ```ts
 * const store = new MemoryStore({ maxKeys: 100_000 }); // some 30 MB for buckets and windows
 * const limiter = await createLimiter({ store }); // or RateLimitModule.forRoot({ store })
 * ```
 */
export class MemoryStore implements RateLimitStore {
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  private readonly entries: Entries;
  private readonly clock: Clock;
  private readonly maxSkew: number;

  /**
   * @throws {RateLimitConfigError} for a wrong or unknown option
   */
  constructor(options: MemoryStoreOptions = {}) {
    checkNames(options, ['maxKeys', 'maxBytes', 'clock', 'maxSkew'], 'MemoryStore');
    const { maxKeys = 1_000_000, maxBytes = defaultBytes(), clock = monotonicClock, maxSkew = 0 } = options;
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
      throw new RateLimitConfigError('MemoryStore', `maxKeys must be a whole number from 1, got ${maxKeys}`);
    }
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) {
      throw new RateLimitConfigError('MemoryStore', `maxBytes must be a whole number from 1, got ${maxBytes}`);
    }
    this.clock = checkClock('MemoryStore', clock);
    this.maxSkew = checkMaxSkew('MemoryStore', maxSkew);
    const spare = clock === monotonicClock ? 0 : MINUTE;
    this.entries = new Entries({ maxKeys, maxBytes, spare, maxSkew: this.maxSkew });
  }

  /** Keys that are kept, including expired ones that are not swept yet. */
  get size(): number {
    return this.entries.size;
  }

  /** Estimated bytes of the keys and their states. */
  get bytes(): number {
    return this.entries.bytes;
  }

  /** Decisions on a state that keys without room share, since the store was made. */
  get overflowed(): number {
    return this.entries.overflowed;
  }

  /** @internal A subclass with its own `consume` is asked as a store of the application. */
  get traits(): Partial<StoreTraits> {
    const local = { isLocal: true, overflowed: () => this.overflowed, clear: () => this.clear() };
    return this.consume === MemoryStore.prototype.consume
      ? { ...local, answersAtOnce: true, keepsDeadline: true, decidesAlternatives: () => true, plain: this }
      : local;
  }

  consume(charges: readonly Charge[]): Verdict {
    return this.consumeAll(charges, this.begin());
  }

  /** @internal See `PlainStore`, which the published types leave out. */
  consumePlain(
    known: StateEntry,
    charge: Charge,
    algorithm: Algorithm,
    cost: number,
    headroom: number,
  ): PlainVerdict | undefined {
    const { entries } = this;
    if (known.home !== entries || !entries.hasBytesFor(1)) return undefined;
    const entry = known as Entry;
    const now = this.begin();
    entries.touch(entry, algorithm);
    const level = algorithm.read(entry.state, now, this.maxSkew);
    const allowed = algorithm.fits(level, cost, headroom);
    const after = allowed ? algorithm.charge(level, cost) : level;
    // Before the state is written: a level may be a view of it.
    const verdict: PlainVerdict = {
      allowed,
      at: now,
      remaining: headroom === 0 ? algorithm.remaining(after) : remainingOf(charge, after),
      resetAfter: algorithm.resetAfter(after),
      retryAfter: allowed ? 0 : waitOf(charge, level),
      delay: allowed ? algorithm.delay(level) : 0,
    };
    if (allowed || algorithm.isAhead(entry.state, now, this.maxSkew)) this.rewrite(entry, algorithm, after, now);
    entries.tidy(now);
    return verdict;
  }

  private begin(): number {
    const now = this.clock();
    this.entries.begin(now);
    return now;
  }

  private consumeAll(charges: readonly Charge[], now: number): Verdict {
    const held = [this.hold(charges[0]!)];
    for (let i = 1; i < charges.length; i++) held.push(this.hold(charges[i]!));
    // Evicts before anything is read: an evicted entry must be neither read nor written.
    if (this.entries.mayNeedRoom(held)) this.entries.makeRoom(held, now);
    for (let i = 0; i < held.length; i++) this.read(held[i]!, now);
    const verdict = judge(held, now);
    for (let i = 0; i < held.length; i++) {
      const one = held[i]!;
      const { charge } = one;
      // Only a shadow of an allowed request may stay uncharged.
      const charged = verdict.allowed && verdict.charges[i]!.allowed && takes(charge);
      if (charged || this.isAhead(one, now)) this.write(one, now);
      if (charged && tellsShortfall(charge)) charge.algorithm.refunds?.markers?.hold(one.entry?.state, now);
    }
    for (let i = 0; i < held.length; i++) if (held[i]!.block !== undefined) this.writeBlock(held[i]!.block!, held, now);
    this.entries.tidy(now); // after the last write: a forgotten entry must not be written
    return verdict;
  }

  reset(keys: readonly string[]): number {
    const now = this.clock();
    let found = 0;
    for (const key of keys) {
      // An expired entry means nothing, although it is not swept yet.
      if ((this.entries.get(key)?.expiresAt ?? 0) > now) found++;
      this.entries.delete(key);
    }
    return found;
  }

  /** Forgets the states of all keys, such as between two tests. */
  clear(): void {
    this.entries.clear();
  }

  refund(receipts: readonly ChargeReceipt[]): void {
    const now = this.clock();
    for (const receipt of receipts) this.refundPart(receipt, receipt.cost, now);
  }

  settle(settlements: readonly ChargeSettlement[]): SettledCharge[] {
    const now = this.clock();
    this.entries.begin(now);
    const settled = settlements.map(({ receipt, finalCost, overdraft }): SettledCharge => {
      const more = finalCost - receipt.cost;
      return more > 0
        ? { refunded: 0, charged: this.chargeMore(receipt, more, overdraft, now) }
        : { refunded: this.refundPart(receipt, receipt.cost - finalCost, now), charged: 0 };
    });
    this.entries.tidy(now);
    return settled;
  }

  /** Returns the refunded cost. */
  private refundPart(receipt: ChargeReceipt, cost: number, now: number): number {
    const { key, algorithm } = receipt;
    const entry = this.entries.get(key);
    // A clock that has stepped back has moved the state, so the charge cannot be found.
    if (cost === 0 || entry?.state === undefined || algorithm.isAhead(entry.state, now, this.maxSkew)) return 0;
    const { refunds } = algorithm;
    if (refunds === undefined) return 0;
    const before = sizeOf(algorithm, entry.state);
    const refunded = refunds.refund(entry.state, now, cost, receipt);
    this.entries.grown(sizeOf(algorithm, entry.state) - before);
    return refunded / refunds.unit;
  }

  /** Charges a cost whether it fits or not, up to the overdraft. Returns the charged cost. */
  private chargeMore({ key, algorithm }: ChargeReceipt, more: number, overdraft: number, now: number): number {
    const held = this.hold({ key, algorithm, cost: more });
    if (this.entries.mayNeedRoom([held])) this.entries.makeRoom([held], now);
    this.read(held, now);
    const cost = Math.max(0, Math.min(more, algorithm.overdraft?.room(held.level, overdraft) ?? 0));
    if (cost === 0 && !this.isAhead(held, now)) return 0;
    const before = held.entry === undefined ? 0 : sizeOf(algorithm, held.entry.state);
    held.level = algorithm.charge(held.level, cost);
    this.write(held, now);
    // `write` counts the growth of a log by itself.
    if (before > 0 && bytesPerCost(algorithm) === 0) this.entries.grown(sizeOf(algorithm, held.entry!.state) - before);
    return cost;
  }

  private hold(charge: Charge): Held {
    const { block } = charge;
    const { entries } = this;
    return new Held(charge, entries.of(charge), block && new HeldBlock(block, entries.of(block)));
  }

  private read(held: Held, now: number): void {
    const { charge, entry } = held;
    if (entry !== undefined) this.entries.touch(entry, charge.algorithm);
    held.level = charge.algorithm.read(entry?.state, now, this.maxSkew);
    if (tellsShortfall(charge)) held.refundMarker = charge.algorithm.refunds?.markers?.read(entry?.state, now);
    if (held.block !== undefined) this.readBlock(held.block, now);
  }

  private readBlock(held: HeldBlock, now: number): void {
    const { charge, entry } = held;
    if (entry !== undefined) this.entries.touch(entry, charge.algorithm);
    held.level = held.before = charge.algorithm.read(entry?.state as Block | undefined, now, this.maxSkew);
  }

  /** Writes a block that has changed, by a rejection or by a clock that stepped back. */
  private writeBlock({ charge, entry, level, before }: HeldBlock, held: readonly Held[], now: number): void {
    const { key, algorithm } = charge;
    if (entry === undefined) {
      if (level === before || !this.entries.hasRoomForBlock(key, algorithm, held, now)) return;
      this.entries.add(key, algorithm, algorithm.write(level, now), algorithm.expiresAt(level, now));
      return;
    }
    const state = entry.state as Block;
    if (level === before && !algorithm.isAhead(state, now, this.maxSkew)) return;
    entry.state = algorithm.write(level, now, state);
    entry.expiresAt = algorithm.expiresAt(level, now);
    this.entries.charged();
  }

  private isAhead({ charge, entry }: Held, now: number): boolean {
    return entry?.state !== undefined && charge.algorithm.isAhead(entry.state, now, this.maxSkew);
  }

  private write({ charge: { key, algorithm }, entry, level }: Held, now: number): void {
    if (entry === undefined) {
      this.entries.add(key, algorithm, algorithm.write(level, now, undefined), algorithm.expiresAt(level, now));
      return;
    }
    this.rewrite(entry, algorithm, level, now);
  }

  private rewrite(entry: Entry, algorithm: Algorithm, level: unknown, now: number): void {
    const before = bytesPerCost(algorithm) > 0 ? sizeOf(algorithm, entry.state) : 0; // the state may be written in place
    entry.state = algorithm.write(level, now, entry.state);
    entry.expiresAt = algorithm.expiresAt(level, now);
    if (before > 0) this.entries.grown(sizeOf(algorithm, entry.state) - before);
    this.entries.charged();
  }
}
