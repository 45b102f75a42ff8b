import type { Algorithm } from '../../algorithms/algorithm.js';
import { monotonicClock } from '../clock.js';
import type { Charge, Clock, RateLimitStore, Verdict } from '../store.js';
import { allFit, chargeAll, verdictOf } from '../verdict.js';

export interface MemoryStoreOptions {
  /** Keys kept at most: a whole number from 1, default 1,000,000. Beyond it an expired key is forgotten, or one not charged lately. */
  maxKeys?: number;
  /** Microseconds since 1970; default a clock that never steps. */
  clock?: Clock;
  /** Milliseconds that a stored instant may lie ahead of the clock before it is rebased; default 0. */
  maxSkewMs?: number;
}

interface Entry {
  state: unknown;
  expiresAt: number;
  /** Charged since the last time it was looked at for eviction. */
  used: boolean;
}

/** Expired entries looked for at each charge: more than one, so that sweeping outruns growth. */
const SWEEP = 2;
/** Entries that are spared at most before one has to go. */
const MAX_LOOKS = 16;
/** As in Redis with the application's clock. */
const MINUTE = 60_000_000;

/**
 * The in-process store: decides as `RedisStore` does, for one process. With several processes each counts for itself, so
 * that a client gets its limit once from every one of them.
 *
 * Bounded by `maxKeys`; expired keys are swept a few at a time with the charges, so there is no timer at all.
 */
export class MemoryStore implements RateLimitStore {
  /** In the order in which they came, or were spared: moving a key at each charge would cost more than all the rest. */
  private readonly entries = new Map<string, Entry>();
  private readonly maxKeys: number;
  private readonly clock: Clock;
  private readonly maxSkew: number;
  /** Microseconds that an expired state is kept: a clock that may step back could need it again. */
  private readonly spare: number;
  private sweep = this.entries.entries();

  /** @throws {RangeError} when an option is out of its range */
  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = 1_000_000, clock = monotonicClock, maxSkewMs = 0 } = options;
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
      throw new RangeError(`MemoryStore: maxKeys must be a whole number from 1, got ${maxKeys}`);
    }
    if (!(maxSkewMs >= 0 && Number.isInteger(maxSkewMs * 1000))) {
      throw new RangeError(`MemoryStore: maxSkewMs must be milliseconds from 0, got ${maxSkewMs}`);
    }
    this.maxKeys = maxKeys;
    this.clock = clock;
    this.spare = clock === monotonicClock ? 0 : MINUTE;
    this.maxSkew = maxSkewMs * 1000;
  }

  /** How many keys are kept, expired ones that were not swept yet included. */
  get size(): number {
    return this.entries.size;
  }

  consume(charges: readonly Charge[]): Verdict {
    const now = this.clock();
    const before = charges.map(({ key, algorithm }) => algorithm.read(this.entries.get(key)?.state, now, this.maxSkew));
    const allowed = allFit(charges, before);
    const after = allowed ? chargeAll(charges, before) : before;
    for (let i = 0; i < charges.length; i++) {
      const { key, algorithm, cost } = charges[i]!;
      if ((allowed && cost > 0) || this.isAhead(key, algorithm, now)) this.write(key, algorithm, after[i], now);
    }
    return verdictOf(charges, before, after, allowed, now);
  }

  reset(keys: readonly string[]): void {
    for (const key of keys) this.entries.delete(key);
  }

  private isAhead(key: string, algorithm: Algorithm, now: number): boolean {
    const entry = this.entries.get(key);
    return entry !== undefined && algorithm.isAhead(entry.state, now, this.maxSkew);
  }

  private write(key: string, algorithm: Algorithm, level: unknown, now: number): void {
    const entry = this.entries.get(key);
    const state = algorithm.write(level, now, entry?.state);
    const expiresAt = algorithm.expiresAt(level, now);
    if (entry === undefined) {
      this.entries.set(key, { state, expiresAt, used: false });
      if (this.entries.size > this.maxKeys) this.evict(now);
    } else {
      entry.state = state;
      entry.expiresAt = expiresAt;
      entry.used = true;
    }
    this.sweepOn(now);
  }

  /** Forgets an expired key, or the first that nobody has charged since it was last looked at ("second chance"). */
  private evict(now: number): void {
    for (let looks = 0; ; looks++) {
      const [key, entry] = this.entries.entries().next().value!;
      this.entries.delete(key);
      if (!entry.used || looks === MAX_LOOKS || entry.expiresAt + this.spare <= now) return;
      entry.used = false;
      this.entries.set(key, entry);
    }
  }

  private sweepOn(now: number): void {
    for (let i = 0; i < SWEEP; i++) {
      const next = this.sweep.next();
      if (next.done) {
        this.sweep = this.entries.entries();
        break;
      }
      const [key, { expiresAt }] = next.value;
      if (expiresAt + this.spare <= now) this.entries.delete(key);
    }
  }
}
