import type { Algorithm } from '../../algorithms/algorithm.js';
import { monotonicClock } from '../clock.js';
import type { Charge, Clock, RateLimitStore, TakenCharge, Verdict } from '../store.js';
import { allFit, chargeAll, verdictOf } from '../verdict.js';

export interface MemoryStoreOptions {
  /** Keys kept at most: a whole number from 1, default 1,000,000; see `MemoryStore` for what happens beyond it. */
  maxKeys?: number;
  /** Microseconds since 1970; default a clock that never steps. */
  clock?: Clock;
  /** Milliseconds that a stored instant may lie ahead of the clock before it is rebased; default 0. */
  maxSkewMs?: number;
}

interface Entry {
  algorithm: Algorithm;
  /** None yet of a shared state that nothing was taken from. */
  state: unknown;
  expiresAt: number;
  /** When it was asked for last: twice the tick, and one more if it was not for the first time. A small integer takes no memory. */
  seen: number;
}

/** Entries looked at for each new one, whether they have expired: more than one, so that sweeping outruns growth. */
const SWEEP_NEW = 2;
/** And for each charge of a known one: looking costs more than the charge. */
const SWEEP_KNOWN = 0.25;
/** And for each that had expired: where one is, there are more. */
const SWEEP_EXPIRED = 2;
/** Looks at most for one request. */
const MAX_SWEEP = 64;
/** Entries looked at for one that has to go. */
const MAX_LOOKS = 8;
/** Of an entry of which no more than this share is taken, little is lost with it. */
const LIGHT = 1 / 8;
/** Shared states kept at most: as many as an application has policies, unless it makes them up at run time. */
const MAX_SHARED = 1_000;
/** How long a tick is, and how many of them somebody who does not ask counts as active. */
const TICK = 1_000_000;
const ACTIVE_TICKS = 60;
/** As in Redis with the application's clock. */
const MINUTE = 60_000_000;

/** What is lost with an entry: nothing, next to nothing, what nobody asked for lately, or what cannot be given up. */
const enum Loss {
  Nothing,
  Little,
  Idle,
  LittleActive,
  TooMuch,
}

/**
 * The in-process store: decides as `RedisStore` does, for one process. With several processes each counts for itself, so
 * that a client gets its limit once from every one of them.
 *
 * Expired keys are swept a few at a time with the charges, so there is no timer at all. At `maxKeys`, a key that is not
 * known makes room for itself by one of the next 8 entries in turn, whichever is the least loss: one that has expired; one
 * of which an eighth of its limit or less is taken, and which was asked for only once or not within a minute; one that was not
 * asked for within a minute, the one least recently asked for first; any other of which an eighth or less is taken. So many
 * looks and no more, however many keys there are.
 *
 * If none of them is to be given up, all are active, and the key gets no state of its own: all such keys share one state for
 * each policy, as if they were one client, until there is room. Who invents identities gets one limit for all of them
 * together then, and no client loses what it has taken: `overflowed` counts the decisions that were made so.
 *
 * @example
 * ```ts
 * const store = new MemoryStore({ maxKeys: 100_000 }); // some 30 MB
 * RateLimitModule.forRoot({ store });
 * ```
 */
export class MemoryStore implements RateLimitStore {
  private readonly entries = new Map<string, Entry>();
  /** Of keys for which there was no room, by policy. */
  private readonly shared = new Map<string, Entry>();
  private readonly maxKeys: number;
  private readonly clock: Clock;
  private readonly maxSkew: number;
  /** Microseconds that an expired state is kept: a clock that may step back could need it again. */
  private readonly spare: number;
  /** Goes round all entries. It stays where it is when one goes: looking from the start would pass every gap again. */
  private hand = this.entries.entries();
  /** Entries that the next charge looks at. */
  private toSweep = 0;
  private tick = 0;
  private nextTickAt = -Infinity;
  /** What the entries asked for in this tick, not for the first time, are marked with. */
  private again = 1;
  private overflows = 0;

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

  /** How many decisions were made on a state that keys without room share, since the store was made. */
  get overflowed(): number {
    return this.overflows;
  }

  consume(charges: readonly Charge[]): Verdict {
    const now = this.clock();
    if (now >= this.nextTickAt) this.nextTick(now);
    const entries = [this.entries.get(charges[0]!.key)];
    let known = entries[0] !== undefined;
    for (let i = 1; i < charges.length; i++) {
      const entry = this.entries.get(charges[i]!.key);
      entries.push(entry);
      known &&= entry !== undefined;
    }
    // What makes room must not be written to any more, nor be read again: so before anything is read.
    if (!known && this.entries.size + charges.length > this.maxKeys) this.makeRoom(charges, entries, now);
    const before = [this.read(charges[0]!, entries[0], now)];
    for (let i = 1; i < charges.length; i++) before.push(this.read(charges[i]!, entries[i], now));
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

  giveBack(taken: readonly TakenCharge[]): void {
    const now = this.clock();
    for (const { key, algorithm, cost, at, resetAt } of taken) {
      const entry = this.entries.get(key);
      // A clock that stepped back has moved the charge to nobody knows where.
      if (entry?.state === undefined || algorithm.isAhead(entry.state, now, this.maxSkew)) continue;
      algorithm.giveBack(entry.state, now, cost, at, resetAt);
    }
  }

  private read({ algorithm }: Charge, entry: Entry | undefined, now: number): unknown {
    if (entry === undefined) return algorithm.read(undefined, now, this.maxSkew);
    entry.seen = this.again; // refused or not: who goes on asking is active
    entry.algorithm = algorithm; // the limit of a key may change
    return algorithm.read(entry.state, now, this.maxSkew);
  }

  private isAhead({ algorithm }: Charge, entry: Entry | undefined, now: number): boolean {
    return entry?.state !== undefined && algorithm.isAhead(entry.state, now, this.maxSkew);
  }

  private write({ key, algorithm }: Charge, entry: Entry | undefined, level: unknown, now: number): void {
    const state = algorithm.write(level, now, entry?.state);
    const expiresAt = algorithm.expiresAt(level, now);
    if (entry === undefined) {
      this.entries.set(key, { algorithm, state, expiresAt, seen: this.tick * 2 });
      this.toSweep += SWEEP_NEW;
    } else {
      entry.state = state;
      entry.expiresAt = expiresAt;
      this.toSweep += SWEEP_KNOWN;
    }
  }

  /** Looks at a few entries whether they have expired. */
  private tidy(now: number): void {
    for (let looks = 0; this.toSweep >= 1 && looks < MAX_SWEEP; looks++, this.toSweep--) {
      const next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        return;
      }
      const [key, entry] = next.value;
      if (!this.hasExpired(entry, now)) continue;
      this.entries.delete(key);
      this.toSweep = Math.min(MAX_SWEEP, this.toSweep + SWEEP_EXPIRED);
    }
  }

  /** After a long pause nobody is active any more; a clock that steps back makes nobody idle. */
  private nextTick(now: number): void {
    const passed = 1 + Math.floor((now - this.nextTickAt) / TICK);
    this.tick += Math.max(0, Math.min(passed, ACTIVE_TICKS + 1));
    this.again = this.tick * 2 + 1;
    this.nextTickAt = now + TICK;
  }

  /** Room for those charges that have no entry, or else a state that they share with others. */
  private makeRoom(charges: readonly Charge[], entries: (Entry | undefined)[], now: number): void {
    if (now < this.nextTickAt - TICK) this.nextTick(now); // ticks go on behind a clock that has stepped back
    let room = this.maxKeys - this.entries.size;
    let overflows = 0;
    for (let i = 0; i < charges.length; i++) {
      if (entries[i] !== undefined) continue;
      if (room > 0) room--;
      else if (!this.evict(entries, now)) {
        entries[i] = this.sharedBy(charges[i]!, entries);
        overflows = 1;
      }
    }
    this.overflows += overflows;
  }

  /** Forgets the least loss among the next few entries, if it is not too much; never one of those that a request needs. */
  private evict(needed: readonly (Entry | undefined)[], now: number): boolean {
    let [victim, least, seen] = ['', Loss.TooMuch, Infinity];
    for (let looks = 0; looks < MAX_LOOKS && least > Loss.Nothing; looks++) {
      let next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        next = this.hand.next();
      }
      if (next.done) break; // a request of more charges than there may be keys
      const [key, entry] = next.value;
      const loss = needed.includes(entry) ? Loss.TooMuch : this.lossOf(entry, now);
      if (loss < least || (loss === least && entry.seen < seen)) [victim, least, seen] = [key, loss, entry.seen];
    }
    return least < Loss.TooMuch && this.entries.delete(victim);
  }

  private hasExpired({ algorithm, state, expiresAt }: Entry, now: number): boolean {
    return expiresAt + this.spare <= now && algorithm.outlives?.(state, now) !== true;
  }

  private lossOf(entry: Entry, now: number): Loss {
    if (this.hasExpired(entry, now)) return Loss.Nothing;
    const { algorithm, state, seen } = entry;
    const idle = seen < (this.tick - ACTIVE_TICKS) * 2;
    const taken = algorithm.limit - algorithm.remaining(algorithm.read(state, now, this.maxSkew));
    if (taken > algorithm.limit * LIGHT) return idle ? Loss.Idle : Loss.TooMuch;
    return idle || seen % 2 === 0 ? Loss.Little : Loss.LittleActive;
  }

  /** By algorithm, and by policy where a key says where the identity ends. Two charges of one request never share a state. */
  private sharedBy({ key, algorithm }: Charge, taken: readonly (Entry | undefined)[]): Entry {
    const end = key.indexOf('}');
    let policy = `${algorithm.name}:${algorithm.rate}${end < 0 ? '' : key.slice(end)}`;
    let entry = this.shared.get(policy);
    while (entry !== undefined && taken.includes(entry)) entry = this.shared.get((policy += '+'));
    if (entry === undefined) {
      if (this.shared.size >= MAX_SHARED) this.shared.delete(this.shared.keys().next().value!);
      entry = { algorithm, state: undefined, expiresAt: 0, seen: 0 };
      this.shared.set(policy, entry);
    }
    return entry;
  }
}
