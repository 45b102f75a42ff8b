import type { Algorithm } from '../../algorithms/algorithm.js';
import { flatten } from '../../util/own-text.js';
import { askedCost, type Charge, takes } from '../charge.js';
import type { Found } from '../judge.js';

/** What the store keeps under a key. */
export interface Entry {
  algorithm: Algorithm;
  /** None yet of a shared state that nothing was taken from. */
  state: unknown;
  expiresAt: number;
  /** When it was asked for last: twice the tick, and one more if it was not for the first time. A small integer takes no memory. */
  seen: number;
}

/** A charge of a request with the entry of its key, if there is one. */
export interface Held extends Found {
  entry: Entry | undefined;
}

/** What bounds the entries. */
export interface Bounds {
  readonly maxKeys: number;
  readonly maxBytes: number;
  /** Microseconds that an expired state is kept: a clock that may step back could need it again. */
  readonly spare: number;
  /** Microseconds that a stored instant may lie ahead of the clock. */
  readonly maxSkew: number;
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
/** Entries that have to go at most, for one charge: a log's instants take the room of many other states. */
const MAX_EVICTIONS = 32;
/** Of an entry of which no more than this share is taken, little is lost with it. */
const LIGHT = 1 / 8;
/** Shared states kept at most: as many as an application has policies, unless it makes them up at run time. */
const MAX_SHARED = 1_000;
/** How long a tick is, and how many of them somebody who does not ask counts as active. */
const TICK = 1_000_000;
const ACTIVE_TICKS = 60;
/** Bytes of an entry beside its state and the characters of its key: the objects, and its part of a sparsely filled table. */
const ENTRY_BYTES = 200;
/** Bytes that one charge adds at most: a new log with a thousand instants. */
const CHARGE_BYTES = 13_000;

/** What is lost with an entry: nothing, next to nothing, what nobody asked for lately, or what cannot be given up. */
const enum Loss {
  Nothing,
  Little,
  Idle,
  LittleActive,
  TooMuch,
}

/**
 * The entries of a `MemoryStore`, within their bounds: it sweeps what has expired, and makes room. Which entry has to go is
 * told at `MemoryStore`.
 */
export class Entries {
  private readonly entries = new Map<string, Entry>();
  /** Of keys for which there was no room, by policy. */
  private readonly shared = new Map<string, Entry>();
  private readonly maxKeys: number;
  private readonly maxBytes: number;
  private readonly spare: number;
  private readonly maxSkew: number;
  /** Goes round all entries. It stays where it is when one goes: looking from the start would pass every gap again. */
  private hand = this.entries.entries();
  /** Entries that the next charge looks at. */
  private toSweep = 0;
  private tick = 0;
  private nextTickAt = -Infinity;
  /** What the entries asked for in this tick, not for the first time, are marked with. */
  private again = 1;
  private overflows = 0;
  /** Of the entries and the shared states, estimated. */
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

  /** To be called before a request's entries are looked up. */
  begin(now: number): void {
    if (now >= this.nextTickAt) this.nextTick(now);
  }

  /** Whether a request could pass a bound. */
  mayNeedRoom(held: readonly Held[]): boolean {
    if (this.estimate + held.length * CHARGE_BYTES > this.maxBytes) return true;
    if (this.entries.size + held.length <= this.maxKeys) return false;
    for (let i = 0; i < held.length; i++) if (held[i]!.entry === undefined) return true;
    return false;
  }

  /** Somebody asks for it, refused or not: who goes on asking is active. The limit of a key may have changed since. */
  touch(entry: Entry, algorithm: Algorithm): void {
    entry.seen = this.again;
    if (entry.algorithm !== algorithm) entry.algorithm = algorithm;
  }

  add(key: string, algorithm: Algorithm, state: unknown, expiresAt: number): void {
    flatten(key);
    this.entries.set(key, { algorithm, state, expiresAt, seen: this.tick * 2 });
    this.estimate += ENTRY_BYTES + key.length + algorithm.sizeOf(state);
    this.toSweep += SWEEP_NEW;
  }

  /** A known entry was charged. */
  charged(): void {
    this.toSweep += SWEEP_KNOWN;
  }

  /** A state takes so many bytes more, or less. */
  grown(bytes: number): void {
    this.estimate += bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.forget(key, entry);
  }

  /** Looks at a few entries whether they have expired. */
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
   * Room for those charges that have no entry, or whose entry grows, or else a state that they share with others. A charge
   * that its own entry refuses needs no room: a client that is blocked stays so.
   */
  makeRoom(held: readonly Held[], now: number): void {
    if (now < this.nextTickAt - TICK) this.nextTick(now); // ticks go on behind a clock that has stepped back
    let [keys, bytes, overflows] = [0, 0, 0];
    for (const one of held) {
      const { charge, entry } = one;
      const { key, algorithm } = charge;
      const cost = askedCost(charge);
      let grows = takes(charge) ? Math.min(cost, algorithm.maxCost) * algorithm.bytesPerCost : 0;
      if (entry === undefined) {
        keys++;
        grows += ENTRY_BYTES + key.length + algorithm.sizeOf(undefined);
      } else if (grows === 0 || !algorithm.fits(algorithm.read(entry.state, now, this.maxSkew), cost)) {
        continue;
      }
      bytes += grows;
      if (this.hasRoom(keys, bytes, held, now)) continue;
      bytes -= grows;
      if (entry === undefined) keys--;
      else this.touch(entry, algorithm);
      one.entry = this.sharedBy(charge, held);
      overflows = 1;
    }
    this.overflows += overflows;
  }

  private hasRoom(keys: number, bytes: number, needed: readonly Held[], now: number): boolean {
    for (let evictions = 0; evictions <= MAX_EVICTIONS; evictions++) {
      const tooMany = keys > 0 && this.entries.size + keys > this.maxKeys;
      if (!tooMany && this.estimate + bytes <= this.maxBytes) return true;
      if (!this.evict(needed, now)) return false;
    }
    return false;
  }

  private forget(key: string, { algorithm, state }: Entry): void {
    this.entries.delete(key);
    this.estimate -= ENTRY_BYTES + key.length + algorithm.sizeOf(state);
  }

  /** After a long pause nobody is active any more; a clock that steps back makes nobody idle. */
  private nextTick(now: number): void {
    const passed = 1 + Math.floor((now - this.nextTickAt) / TICK);
    this.tick += Math.max(0, Math.min(passed, ACTIVE_TICKS + 1));
    this.again = this.tick * 2 + 1;
    this.nextTickAt = now + TICK;
  }

  /** Forgets the least loss among the next few entries, if it is not too much; never one of those that a request needs. */
  private evict(needed: readonly Held[], now: number): boolean {
    let [victim, least, seen] = ['', Loss.TooMuch, Infinity];
    for (let looks = 0; looks < MAX_LOOKS && least > Loss.Nothing; looks++) {
      let next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        next = this.hand.next();
      }
      if (next.done) break; // a request of more charges than there may be keys
      const [key, entry] = next.value;
      const loss = isHeld(entry, needed) ? Loss.TooMuch : this.lossOf(entry, now);
      if (loss < least || (loss === least && entry.seen < seen)) [victim, least, seen] = [key, loss, entry.seen];
    }
    if (least === Loss.TooMuch) return false;
    this.delete(victim);
    return true;
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

  /** One state for each policy. Two charges of one request never share a state. */
  private sharedBy({ policyKey = '', algorithm }: Charge, taken: readonly Held[]): Entry {
    let policy = `${algorithm.name}:${algorithm.rate}${policyKey}`;
    let entry = this.shared.get(policy);
    while (entry !== undefined && isHeld(entry, taken)) entry = this.shared.get((policy += '+'));
    if (entry !== undefined) return entry;
    if (this.shared.size >= MAX_SHARED) this.forgetShared();
    flatten(policy);
    entry = { algorithm, state: undefined, expiresAt: 0, seen: 0 };
    this.shared.set(policy, entry);
    this.estimate += ENTRY_BYTES + policy.length + algorithm.sizeOf(undefined);
    return entry;
  }

  private forgetShared(): void {
    const [key, { algorithm, state }] = this.shared.entries().next().value!;
    this.shared.delete(key);
    this.estimate -= ENTRY_BYTES + key.length + algorithm.sizeOf(state);
  }
}

function isHeld(entry: Entry, held: readonly Held[]): boolean {
  for (let i = 0; i < held.length; i++) if (held[i]!.entry === entry) return true;
  return false;
}
