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

/** Entries looked at for each new one, whether they have expired: more than one, so that sweeping outruns growth. */
const SWEEP_NEW = 2;
/** And for each charge of a known one: looking costs more than the charge. */
const SWEEP_KNOWN = 0.25;
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
  /** Entries that the next charge looks at. */
  private toSweep = 0;

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
    const entries = [this.entries.get(charges[0]!.key)];
    const before = [charges[0]!.algorithm.read(entries[0]?.state, now, this.maxSkew)];
    for (let i = 1; i < charges.length; i++) {
      const { key, algorithm } = charges[i]!;
      entries.push(this.entries.get(key));
      before.push(algorithm.read(entries[i]?.state, now, this.maxSkew));
    }
    const allowed = allFit(charges, before);
    const after = allowed ? chargeAll(charges, before) : before;
    for (let i = 0; i < charges.length; i++) {
      const entry = entries[i];
      if ((allowed && charges[i]!.cost > 0) || this.isAhead(charges[i]!, entry, now)) {
        this.write(charges[i]!, entry, after[i], now);
      }
    }
    this.tidy(now); // not before the last write: what it forgets must not be written to any more
    return verdictOf(charges, before, after, allowed, now);
  }

  reset(keys: readonly string[]): void {
    for (const key of keys) this.entries.delete(key);
  }

  private isAhead({ algorithm }: Charge, entry: Entry | undefined, now: number): boolean {
    return entry !== undefined && algorithm.isAhead(entry.state, now, this.maxSkew);
  }

  private write({ key, algorithm }: Charge, entry: Entry | undefined, level: unknown, now: number): void {
    const state = algorithm.write(level, now, entry?.state);
    const expiresAt = algorithm.expiresAt(level, now);
    if (entry === undefined) {
      this.entries.set(key, { state, expiresAt, used: false });
      this.toSweep += SWEEP_NEW;
    } else {
      entry.state = state;
      entry.expiresAt = expiresAt;
      entry.used = true;
      this.toSweep += SWEEP_KNOWN;
    }
  }

  /** Keeps the bound, and looks at a few entries whether they have expired. */
  private tidy(now: number): void {
    while (this.entries.size > this.maxKeys) this.evict(now);
    for (; this.toSweep >= 1; this.toSweep--) {
      const next = this.sweep.next();
      if (next.done) {
        this.sweep = this.entries.entries();
        return;
      }
      const [key, { expiresAt }] = next.value;
      if (expiresAt + this.spare <= now) this.entries.delete(key);
    }
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
}
