import { bytesPerCost } from '../../algorithms/core/footprint.js';
import { flatten } from '../../util/flat-text.js';
import { type BlockCharge, type Charge, fits, takes } from '../charge.js';
import { Activity, askedOnce } from './activity.js';
import { bytesOf, type Entry, type Held, isHeld, type KeptAlgorithm } from './entry.js';
import { OverflowStates } from './overflow-states.js';

/** The limits of the entries. */
export interface Bounds {
  readonly maxKeys: number;
  readonly maxBytes: number;
  /** Microseconds that an expired state is kept: a clock that steps back could need it again. */
  readonly spare: number;
  /** Microseconds that a stored instant may lie ahead of the clock. */
  readonly maxSkew: number;
}

/** Entries checked for expiry after each new one: more than one, so that sweeping outruns growth. */
const SWEEP_NEW = 2;
/** Entries checked after each charge of a known one: a check costs more than the charge. */
const SWEEP_KNOWN = 0.25;
/** Further entries checked after each expired one: expired entries come in groups. */
const SWEEP_EXPIRED = 2;
/** Entries checked at most after one request. */
const MAX_SWEEP = 64;
/** Entries considered for one eviction. */
const MAX_LOOKS = 8;
/** Evictions at most for one charge: the instants of a log take the room of many other states. */
const MAX_EVICTIONS = 32;
/** An entry loses little if at most this share of its limit is taken. */
const LIGHT = 1 / 8;
/** Bytes that one charge adds at most: a new log with a thousand instants. */
const CHARGE_BYTES = 13_000;

/** The loss when an entry is evicted, from none to too much. */
const enum Loss {
  Nothing,
  Little,
  Idle,
  LittleActive,
  TooMuch,
}

/**
 * The entries of a `MemoryStore` within their bounds: sweeps expired entries, and evicts others to make room. The comment of
 * `MemoryStore` names the order of eviction.
 */
export class Entries {
  private readonly entries = new Map<string, Entry>();
  private readonly activity = new Activity();
  private readonly shared = new OverflowStates((bytes) => this.grown(bytes));
  private readonly maxKeys: number;
  private readonly maxBytes: number;
  private readonly spare: number;
  private readonly maxSkew: number;
  /** Iterates over all entries, and keeps its place when one is deleted: a new iterator would walk over every gap again. */
  private hand = this.entries.entries();
  /** Entries that the next sweep checks. */
  private toSweep = 0;
  private overflows = 0;
  /** Estimated bytes of the entries and the shared states. */
  private estimate = 0;

  constructor({ maxKeys, maxBytes, spare, maxSkew }: Bounds) {
    this.maxKeys = maxKeys;
    this.maxBytes = maxBytes;
    this.spare = spare;
    this.maxSkew = maxSkew;
  }

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.estimate;
  }

  get overflowed(): number {
    return this.overflows;
  }

  get(key: string): Entry | undefined {
    return this.entries.get(key);
  }

  /** The entry of a charge's key. A charge that may be used again remembers it: a look into a large map is far in memory. */
  of(charge: Charge | BlockCharge): Entry | undefined {
    const { entry: known, key } = charge;
    if (known === undefined) return this.entries.get(key);
    // A copy of the charge may have another key.
    if (known.home === this && known.key === key) return known as Entry;
    const entry = this.entries.get(key);
    if (entry !== undefined) charge.entry = entry;
    return entry;
  }

  /** Call it before a request's entries are looked up. */
  begin(now: number): void {
    this.activity.begin(now);
  }

  /** Whether this many charges of any kind fit into the bytes, if their keys have entries. */
  hasBytesFor(charges: number): boolean {
    return this.estimate + charges * CHARGE_BYTES <= this.maxBytes;
  }

  /** Whether a request could exceed a bound. */
  mayNeedRoom(held: readonly Held[]): boolean {
    if (!this.hasBytesFor(held.length)) return true;
    if (this.entries.size + held.length <= this.maxKeys) return false;
    for (let i = 0; i < held.length; i++) if (held[i]!.entry === undefined) return true;
    return false;
  }

  /** Marks an entry as active, whether the request is rejected or not. The limit of a key may have changed since. */
  touch(entry: Entry, algorithm: KeptAlgorithm): void {
    entry.seen = this.activity.again;
    if (entry.algorithm !== algorithm) entry.algorithm = algorithm;
  }

  add(key: string, algorithm: KeptAlgorithm, state: unknown, expiresAt: number): void {
    flatten(key);
    this.entries.set(key, { key, algorithm, state, expiresAt, seen: this.activity.first, home: this });
    this.estimate += bytesOf(key, algorithm, state);
    this.toSweep += SWEEP_NEW;
  }

  /** Notes that a known entry was charged. */
  charged(): void {
    this.toSweep += SWEEP_KNOWN;
  }

  /** Notes that a state takes more bytes, or fewer. */
  grown(bytes: number): void {
    this.estimate += bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.forget(key, entry);
  }

  /** Forgets all entries and shared states. */
  clear(): void {
    for (const entry of this.entries.values()) abandon(entry);
    this.entries.clear();
    this.shared.clear();
    this.hand = this.entries.entries();
    this.toSweep = this.estimate = 0;
  }

  /** Checks a few entries for expiry, and forgets the expired ones. */
  tidy(now: number): void {
    for (let looks = 0; this.toSweep >= 1 && looks < MAX_SWEEP; looks++, this.toSweep--) {
      const next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        return;
      }
      const [key, entry] = next.value;
      if (!this.hasExpired(entry, now)) continue;
      this.forget(key, entry);
      this.toSweep = Math.min(MAX_SWEEP, this.toSweep + SWEEP_EXPIRED);
    }
  }

  /**
   * Makes room for the charges without an entry, and for those whose entry grows. A charge without room gets the shared state of
   * its policy. A charge that its own entry rejects needs no room: a blocked client stays blocked.
   */
  makeRoom(held: readonly Held[], now: number): void {
    this.activity.stepBack(now);
    let [keys, bytes, overflows] = [0, 0, 0];
    for (const one of held) {
      const { charge, entry } = one;
      const { key, algorithm } = charge;
      let grows = takes(charge) ? Math.min(charge.cost, algorithm.maxCost) * bytesPerCost(algorithm) : 0;
      if (entry === undefined) {
        keys++;
        grows += bytesOf(key, algorithm, undefined);
      } else if (grows === 0 || !fits(charge, algorithm.read(entry.state, now, this.maxSkew))) {
        continue;
      }
      bytes += grows;
      if (this.hasRoom(keys, bytes, held, now)) continue;
      bytes -= grows;
      if (entry === undefined) keys--;
      else this.touch(entry, algorithm);
      one.entry = this.shared.of(charge, held);
      overflows = 1;
    }
    this.overflows += overflows;
  }

  /** Whether there is room for a new block of a request. A block without room is not kept. */
  hasRoomForBlock(key: string, algorithm: KeptAlgorithm, held: readonly Held[], now: number): boolean {
    const bytes = bytesOf(key, algorithm, undefined);
    if (this.entries.size < this.maxKeys && this.estimate + bytes <= this.maxBytes) return true;
    this.activity.stepBack(now);
    if (this.hasRoom(1, bytes, held, now)) return true;
    this.overflows++;
    return false;
  }

  private hasRoom(keys: number, bytes: number, needed: readonly Held[], now: number): boolean {
    for (let evictions = 0; evictions <= MAX_EVICTIONS; evictions++) {
      const tooMany = keys > 0 && this.entries.size + keys > this.maxKeys;
      if (!tooMany && this.estimate + bytes <= this.maxBytes) return true;
      if (!this.evict(needed, now)) return false;
    }
    return false;
  }

  private forget(key: string, entry: Entry): void {
    this.entries.delete(key);
    this.estimate -= bytesOf(key, entry.algorithm, entry.state);
    abandon(entry);
  }

  /**
   * Evicts the entry with the least loss among the next few, unless even that loss is too much. Entries of the request itself
   * are kept.
   */
  private evict(needed: readonly Held[], now: number): boolean {
    let [victim, least, seen] = ['', Loss.TooMuch, Infinity];
    for (let looks = 0; looks < MAX_LOOKS && least > Loss.Nothing; looks++) {
      let next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        next = this.hand.next();
      }
      if (next.done) break; // a request of more charges than maxKeys
      const [key, entry] = next.value;
      const loss = isHeld(entry, needed) ? Loss.TooMuch : this.lossOf(entry, now);
      if (loss < least || (loss === least && entry.seen < seen)) [victim, least, seen] = [key, loss, entry.seen];
    }
    if (least === Loss.TooMuch) return false;
    this.delete(victim);
    return true;
  }

  private hasExpired({ algorithm, state, expiresAt }: Entry, now: number): boolean {
    return expiresAt + this.spare <= now && algorithm.footprint?.outlives?.(state, now) !== true;
  }

  private lossOf(entry: Entry, now: number): Loss {
    if (this.hasExpired(entry, now)) return Loss.Nothing;
    const { algorithm, state, seen } = entry;
    const idle = this.activity.isIdle(seen);
    const taken = algorithm.limit - algorithm.remaining(algorithm.read(state, now, this.maxSkew));
    if (taken > algorithm.limit * LIGHT) return idle ? Loss.Idle : Loss.TooMuch;
    return idle || askedOnce(seen) ? Loss.Little : Loss.LittleActive;
  }
}

/** Detaches an entry that a caller may still hold: the caller must neither keep the state in memory nor charge it. */
function abandon(entry: Entry): void {
  entry.state = entry.home = undefined;
}
