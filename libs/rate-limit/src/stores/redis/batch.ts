import { type Algorithm, isWhole } from '../../algorithms/algorithm.js';
import { wallClock } from '../clock.js';
import type { Denials } from '../observers.js';
import { failureOf, isInstant, UnusableReplyError } from './reply.js';
import { type Charge, RateLimitStoreError, type Verdict } from '../store.js';
import { askedCost, type BlockCharge, reserves, sameCharges, takes } from '../charge.js';
import { copyOf, type Found, type FoundBlock, judge } from '../judge.js';

/** A request that waits for its answer. */
export interface PendingRequest {
  readonly charges: readonly Charge[];
  /** @param found the levels before the request; undefined unless `keepsLevels` */
  readonly resolve: (verdict: Verdict, found: readonly Found[] | undefined) => void;
  readonly reject: (error: Error) => void;
  /** Whether `resolve` gets the levels that the charges found. Default false. */
  readonly keepsLevels?: boolean;
  /** The identical request that follows it. */
  next: PendingRequest | undefined;
}

/** Identical requests, which are decided together, one after the other. */
interface Row {
  readonly first: PendingRequest;
  last: PendingRequest;
  count: number;
}

/** A charge, or the block that stands behind it in its row. */
type AnyCharge = Charge | BlockCharge;

/** A key of a batch. */
interface KeyEntry {
  readonly number: number;
  /** The algorithm of all its requests. */
  readonly algorithm: AnyCharge['algorithm'];
  /** The last row that touched the key. */
  row: Row;
}

/** On the wire a policy and a key have 7 bits each (the policy's 7th: another charge follows), and a count has 14. */
const MAX_POLICIES = 63;
const MAX_KEYS = 127;
const MAX_COUNT = 2 ** 14 - 1;
const MORE = 64;
/** Rows of a batch: few enough that Redis decides one batch while Node writes the next. */
const MAX_ROWS = 32;
/** Entries that a batch adds to logs at most: each takes Redis 0.8 us, during which all other clients wait. */
const MAX_ENTRIES = 1_000;

/**
 * Requests that go to Redis in one EVALSHA. Identical requests become one row with a count, as long as no other row has
 * touched their keys since: the order of requests on a key decides their answers.
 *
 * The header of lua/program.lua describes the wire.
 */
export class Batch {
  private rows: Row[] = [];
  private keys = new Map<string, KeyEntry>();
  private policies: AnyCharge[] = [];
  /** ARGV[4] without the counts, which are known at the end: 4 numbers for each charge of each row. */
  private codes: number[] = [];
  /** Entries that it adds to logs. */
  private entries = 0;

  /** @param lane the lane of `Routing` that its requests share */
  constructor(readonly lane = 0) {}

  /** The number of requests. */
  get size(): number {
    let size = 0;
    for (const { count } of this.rows) size += count;
    return size;
  }

  /** Adds a request; false when it does not fit. */
  add(pending: PendingRequest): boolean {
    const { charges } = pending;
    const entries = entriesOf(charges);
    if (this.entries + entries > MAX_ENTRIES && this.rows.length > 0) return false;
    const entry = this.keys.get(charges[0]!.key);
    if (entry !== undefined && this.repeats(entry.row, charges)) {
      entry.row.last.next = pending;
      entry.row.last = pending;
      entry.row.count++;
      this.entries += entries;
      return true;
    }
    if (this.rows.length > 0 && (this.isFullFor(charges) || this.mixes(charges))) return false;
    const row = { first: pending, last: pending, count: 1 };
    this.rows.push(row);
    this.entries += entries;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const { block } = charge;
      const more = i < charges.length - 1 ? MORE : 0;
      if (block === undefined) {
        this.codes.push(this.policyNumber(charge) + more, this.entryOf(charge, row).number, 0, 1);
      } else {
        this.codes.push(this.policyNumber(charge) + MORE, this.entryOf(charge, row).number, 0, 1);
        this.codes.push(this.policyNumber(block) + more, this.entryOf(block, row).number, 0, 1);
      }
    }
    return true;
  }

  /** KEYS of the program. */
  encodeKeys(): string[] {
    return [...this.keys.keys()];
  }

  /**
   * ARGV[3] and ARGV[4] of the program.
   *
   * @param now the instant that is sent as ARGV[1]; undefined: Redis's clock
   */
  encodeArguments(now: number | undefined): [policies: string, charges: string] {
    const { codes } = this;
    let at = 0;
    for (const { first, count } of this.rows) {
      const end = at + 4 * placesOf(first.charges);
      for (; at < end; at += 4) {
        codes[at + 2] = count >>> 7;
        codes[at + 3] = count & 127;
      }
    }
    const policies = this.policies.map((charge) => {
      const { algorithm } = charge;
      const take = takes(charge) ? charge.cost : 0;
      const shadow = charge.shadow === true ? 'shadow:' : '';
      const reserve = stampLength(charge) > 0 ? ',1' : '';
      const numbers = wireOf(algorithm, now).join();
      return `["${shadow}${programOf(algorithm)}",${askedCost(charge)},${take},${numbers}${reserve}]`;
    });
    return [`[${policies.join()}]`, String.fromCharCode(...codes)];
  }

  /**
   * Checks that a reply is the program's: as long as the requests need, and each number one that the program can send.
   *
   * @param now the instant that was sent as ARGV[1]; undefined: Redis's clock
   * @param maxSkew ARGV[2], in microseconds
   * @throws {UnusableReplyError}
   */
  check(reply: unknown, now: number | undefined, maxSkew: number): asserts reply is readonly number[] {
    if (this.rows.length === 0) return; // forgotten: no request reads the reply
    if (!Array.isArray(reply) || !isInstant(reply[0], now)) throw new UnusableReplyError(reply);
    let offset = 1;
    for (const { first } of this.rows) {
      if (failureOf(reply[offset]) !== undefined) {
        offset++;
        continue;
      }
      const { charges } = first;
      for (let i = 0; i < charges.length; i++) {
        const { algorithm, block } = charges[i]!;
        if (!algorithm.isLevel(reply, offset, maxSkew)) throw new UnusableReplyError(reply);
        offset += algorithm.replyLength;
        for (const end = offset + stampLength(charges[i]!); offset < end; offset++) {
          if (!isWhole(reply[offset], 0)) throw new UnusableReplyError(reply);
        }
        if (block === undefined) continue;
        if (!block.algorithm.isLevel(reply, offset, maxSkew)) throw new UnusableReplyError(reply);
        offset += block.algorithm.replyLength;
      }
    }
    if (offset !== reply.length) throw new UnusableReplyError(reply);
  }

  /** Answers every request from the program's checked reply. */
  settle(reply: readonly number[], denials: Denials | undefined, sentAt: number): void {
    const at = reply[0]!;
    let offset = 1;
    for (const { first } of this.rows) {
      const { charges } = first;
      const failure = failureOf(reply[offset]);
      if (failure !== undefined) {
        offset++;
        reject(first, new RateLimitStoreError(failure));
        continue;
      }
      const found: Found[] = [];
      for (let i = 0; i < charges.length; i++) {
        const charge = charges[i]!;
        const level = charge.algorithm.decode(reply, offset);
        offset += charge.algorithm.replyLength;
        let stamp: readonly number[] | undefined;
        const length = stampLength(charge);
        if (length > 0) stamp = reply.slice(offset, (offset += length));
        let block: FoundBlock | undefined;
        if (charge.block !== undefined) {
          block = { charge: charge.block, level: charge.block.algorithm.decode(reply, offset) };
          offset += charge.block.algorithm.replyLength;
        }
        found.push({ charge, level, block, stamp });
      }
      for (let pending: PendingRequest | undefined = first; pending !== undefined; pending = pending.next) {
        const before = pending.keepsLevels === true ? found.map(copyOf) : undefined;
        const verdict = judge(found, at);
        denials?.note(charges, verdict, sentAt);
        pending.resolve(verdict, before);
      }
    }
  }

  /** Answers every request with the same failure. */
  fail(error: Error): void {
    for (const { first } of this.rows) reject(first, error);
  }

  /** Drops every request after all have failed: the client may hold this batch for as long as the reply is missing. */
  forget(): void {
    this.rows = [];
    this.keys = new Map();
    this.policies = [];
    this.codes = [];
  }

  /** Whether a request repeats a row, and no other row has touched its keys since. */
  private repeats(row: Row, charges: readonly Charge[]): boolean {
    if (row.count === MAX_COUNT || !sameCharges(row.first.charges, charges)) return false;
    for (let i = 0; i < charges.length; i++) {
      const { key, block } = charges[i]!;
      if (i > 0 && this.keys.get(key)!.row !== row) return false;
      if (block !== undefined && this.keys.get(block.key)!.row !== row) return false;
    }
    return true;
  }

  private isFullFor(charges: readonly Charge[]): boolean {
    const length = placesOf(charges);
    return (
      this.rows.length >= MAX_ROWS || this.keys.size + length > MAX_KEYS || this.policies.length + length > MAX_POLICIES
    );
  }

  /** Whether a key is here with another algorithm: the meaning of its state would depend on the algorithm that reads it. */
  private mixes(charges: readonly Charge[]): boolean {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const entry = this.keys.get(charge.key);
      if (entry !== undefined && entry.algorithm !== charge.algorithm) return true;
      const block = charge.block && this.keys.get(charge.block.key);
      if (block !== undefined && block.algorithm !== charge.block!.algorithm) return true;
    }
    return false;
  }

  private policyNumber(charge: AnyCharge): number {
    const { policies } = this;
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i]!;
      if (policy.algorithm !== charge.algorithm || policy.cost !== charge.cost) continue;
      if (policy.shadow !== charge.shadow) continue;
      if (takes(policy) === takes(charge) && reserves(policy) === reserves(charge)) return i + 1;
    }
    return policies.push(charge);
  }

  private entryOf({ key, algorithm }: AnyCharge, row: Row): KeyEntry {
    let entry = this.keys.get(key);
    if (entry === undefined) {
      entry = { number: this.keys.size + 1, algorithm, row };
      this.keys.set(key, entry);
    }
    entry.row = row;
    return entry;
  }
}

/**
 * An algorithm's numbers on the wire.
 *
 * @param now the instant at which the program decides, about; undefined: by Redis's clock
 */
export function wireOf(algorithm: Pick<Algorithm, 'wire' | 'wireAt'>, now: number | undefined): readonly number[] {
  return algorithm.wireAt?.(now ?? wallClock()) ?? algorithm.wire;
}

/** The algorithm's name on the wire. */
export function programOf({ name, program = name }: { readonly name: string; readonly program?: string }): string {
  return program;
}

/** How many numbers of the reply are for the receipt of a reservation. */
function stampLength(charge: AnyCharge): number {
  return reserves(charge) ? ((charge as Charge).algorithm.stampLength ?? 0) : 0;
}

/** The charges of a row, blocks included. */
function placesOf(charges: readonly Charge[]): number {
  let places = charges.length;
  for (let i = 0; i < charges.length; i++) if (charges[i]!.block !== undefined) places++;
  return places;
}

/** Entries that an allowed request adds to logs. */
function entriesOf(charges: readonly Charge[]): number {
  let entries = 0;
  for (let i = 0; i < charges.length; i++) {
    if (charges[i]!.algorithm.bytesPerCost > 0 && takes(charges[i]!)) entries += charges[i]!.cost;
  }
  return entries;
}

function reject(first: PendingRequest, error: Error): void {
  for (let pending: PendingRequest | undefined = first; pending !== undefined; pending = pending.next)
    pending.reject(error);
}
