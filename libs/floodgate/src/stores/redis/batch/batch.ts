import { bytesPerCost } from '../../../algorithms/core/footprint.js';
import type { Denials } from '../../denials.js';
import type { ChargeReceipt } from '../../receipt.js';
import { asksAlike, type BlockCharge, type Charge, sameCharges, takes } from '../../charge.js';
import { answerRows, checkReply } from './answers.js';
import { expireAll, type Pending, rejectAll } from './pending-request.js';
import { PROGRAM, type ScriptCall } from './programs.js';
import { Row } from './row.js';
import { addedBy, settlementText } from './settlements.js';
import { leanCall, leanProgramOf, placesOf, policyText, textOf } from './wire.js';

/** A charge, or the block that follows it in its row. */
type AnyCharge = Charge | BlockCharge;

/** A key of a batch. A class for the reason that `StoreRequest` gives. */
class KeyEntry {
  /**
   * @param algorithm the algorithm of all requests for the key
   * @param row the last one that touched the key
   */
  constructor(
    readonly number: number,
    readonly algorithm: AnyCharge['algorithm'],
    public row: Row,
  ) {}
}

/** A policy and a key have 7 bits each on the wire (the policy's 7th: another charge follows), and a count has 14. */
const MAX_POLICIES = 63;
const MAX_KEYS = 127;
const MAX_COUNT = 2 ** 14 - 1;
/** The most charges and blocks of one request, or of one settlement: each may be of another policy. */
export const MAX_PLACES = MAX_POLICIES;
const MORE = 64;
/** Rows of a batch: few enough that Redis decides one batch while Node writes the next. */
export const MAX_ROWS = 32;
/** Entries that a batch adds to logs at most: each takes Redis 0.8 us, during which all other clients wait. */
const MAX_ENTRIES = 1_000;

/**
 * Requests and settlements that go to Redis in one EVALSHA. Identical requests become one row with a count, as long as no other row has
 * touched their keys since: the order of requests on a key decides their answers.
 *
 * The headers of lua/program.lua and lua/lean.lua describe the wire.
 */
export class Batch {
  private rows: Row[] = [];
  /** Not filled before there is a second row, like the two members below: one row needs none of them. */
  private keys: Map<string, KeyEntry> | undefined;
  private policies: AnyCharge[] = [];
  /** ARGV[4] without the counts, which are known at the end: 4 numbers for each charge of each row. */
  private codes: number[] = [];
  /** The entries that this batch adds to logs. */
  private entries = 0;
  /** The rows that are settlements. */
  private settling = 0;

  /** The number of requests and settlements. */
  get size(): number {
    return this.requestCount + this.settling;
  }

  get requestCount(): number {
    let requests = 0;
    for (const { count } of this.rows) requests += count;
    return requests;
  }

  /** Adds a request or a settlement; false when it does not fit. */
  add(pending: Pending, maxRows = MAX_ROWS): boolean {
    const { charges } = pending;
    const entries = entriesOf(pending);
    if (this.entries + entries > MAX_ENTRIES && this.rows.length > 0) return false;
    const { rows } = this;
    if (pending.settlements === undefined) {
      const before = rows.length === 1 ? rows[0] : this.keys?.get(charges[0]!.key)?.row;
      if (before !== undefined && this.repeats(before, charges)) {
        before.repeat(pending);
        this.entries += entries;
        return true;
      }
    }
    if (rows.length > 0) {
      const keys = this.registered();
      const isFull = rows.length >= maxRows || lacksPlaces(keys.size, this.policies.length, charges);
      if (isFull || mixes(keys, charges)) return false;
    }
    const row = new Row(pending);
    rows.push(row);
    this.entries += entries;
    if (pending.settlements !== undefined) this.settling++;
    if (this.keys !== undefined) this.register(row, this.keys);
    return true;
  }

  /**
   * The call that decides the batch.
   *
   * @param now the instant at which the program decides; undefined: Redis's clock
   * @param maxSkew in microseconds; 0 with Redis's clock
   */
  encode(now: number | undefined, maxSkew: number): ScriptCall {
    return this.encodeLean(now, maxSkew) ?? this.encodeRows(now, maxSkew);
  }

  /** The call of a lean program; undefined if the batch needs more than that. */
  encodeLean(now: number | undefined, maxSkew: number): ScriptCall | undefined {
    const { rows } = this;
    const program = this.settling > 0 ? undefined : leanProgramOf(rows[0]!.first.charges);
    if (program === undefined) return undefined;
    if (rows.length > 1) {
      const keys = this.registered().size;
      const isOfOnePolicy = this.policies.length === 1 && this.codes.length === 4 * rows.length;
      if (!isOfOnePolicy || keys !== rows.length) return undefined;
    }
    return leanCall(program, rows, now, maxSkew);
  }

  /** The call of the program that decides any batch. */
  encodeRows(now: number | undefined, maxSkew: number): ScriptCall {
    const keys = [...this.registered().keys()];
    const { codes } = this;
    let at = 0;
    for (const { first, count } of this.rows) {
      const end = at + 4 * placesOf(first.charges);
      for (; at < end; at += 4) {
        codes[at + 2] = count >>> 7;
        codes[at + 3] = count & 127;
      }
    }
    const policies = this.policies.map((charge) => policyText(charge, now));
    const settled = this.settling === 0 ? '' : `[${this.settlementTexts().join()}]`;
    const args = [
      ...keys,
      textOf(now),
      String(maxSkew),
      `[${policies.join()}]`,
      String.fromCharCode(...codes),
      settled,
    ];
    return { program: PROGRAM, keys: keys.length, args };
  }

  /**
   * Checks that the program can have sent a reply.
   *
   * @param now see `checkReply`
   * @param maxSkew see `checkReply`
   * @param byNode see `checkReply`; default false
   * @throws {UnusableReplyError}
   */
  check(reply: unknown, now: number | undefined, maxSkew: number, byNode = false): asserts reply is readonly number[] {
    checkReply(this.rows, reply, now, maxSkew, byNode);
  }

  /**
   * Answers every request from the program's checked reply. Only the requests that the node did not decide stay in the batch.
   *
   * @param abandoned gets the receipts of what requests hold that the deadline has failed; undefined before the deadline
   * @returns the requests that the node did not decide, in their order; undefined when it decided all
   */
  settle(
    reply: readonly number[],
    denials: Denials | undefined,
    sentAt: number,
    abandoned: ChargeReceipt[] | undefined,
  ): readonly Pending[] | undefined {
    const undecided = answerRows(this.rows, reply, denials, sentAt, abandoned);
    // V8 may treat the batch as an old object by now: release its rows, for the reason that `StoreRequest` gives.
    this.keys = undefined;
    if (undecided === undefined) {
      this.rows.length = 0;
      return undefined;
    }
    this.rows = undecided;
    return this.requests();
  }

  /** The requests that have no answer yet, in their order. */
  requests(): readonly Pending[] {
    const requests: Pending[] = [];
    for (const { first } of this.rows) {
      for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.next) {
        requests.push(pending);
      }
    }
    return requests;
  }

  /**
   * Answers every request with the same failure.
   *
   * @param isNotRun whether Redis has certainly run nothing of the batch
   */
  fail(error: Error, isNotRun: boolean): void {
    for (const { first } of this.rows) rejectAll(first, error, isNotRun);
  }

  /** Answers every request with the same failure, but those whose answer counts however late it comes. */
  expire(error: Error): void {
    for (const { first } of this.rows) expireAll(first, error);
    // The batch is not sent again, and the client may hold it for as long as the reply is missing.
    this.keys = undefined;
    this.policies = [];
    this.codes = [];
  }

  private settlementTexts(): string[] {
    return this.rows.flatMap(({ first: { settlements } }) => settlements?.map(settlementText) ?? []);
  }

  /** Whether a request repeats a row, and no other row has touched its keys since. */
  private repeats(row: Row, charges: readonly Charge[]): boolean {
    if (row.count === 0 || row.count === MAX_COUNT || !sameCharges(row.first.charges, charges)) return false;
    const { keys } = this;
    if (keys === undefined) return true; // it is the only row
    for (let i = 0; i < charges.length; i++) {
      const { key, block } = charges[i]!;
      if (i > 0 && keys.get(key)!.row !== row) return false;
      if (block !== undefined && keys.get(block.key)!.row !== row) return false;
    }
    return true;
  }

  /** The keys of all rows. Registers the first row, which has no codes until then. */
  private registered(): Map<string, KeyEntry> {
    let { keys } = this;
    if (keys === undefined) {
      keys = this.keys = new Map();
      for (const row of this.rows) this.register(row, keys);
    }
    return keys;
  }

  private register(row: Row, keys: Map<string, KeyEntry>): void {
    const { charges } = row.first;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const { block } = charge;
      const more = i < charges.length - 1 ? MORE : 0;
      if (block === undefined) {
        this.codes.push(this.policyNumber(charge) + more, numberOf(charge, row, keys), 0, 1);
      } else {
        this.codes.push(this.policyNumber(charge) + MORE, numberOf(charge, row, keys), 0, 1);
        this.codes.push(this.policyNumber(block) + more, numberOf(block, row, keys), 0, 1);
      }
    }
  }

  private policyNumber(charge: AnyCharge): number {
    const { policies } = this;
    for (let i = 0; i < policies.length; i++) {
      if (asksAlike(policies[i]! as Charge, charge as Charge)) return i + 1;
    }
    return policies.push(charge);
  }
}

/** The number of a key in its batch. */
function numberOf({ key, algorithm }: AnyCharge, row: Row, keys: Map<string, KeyEntry>): number {
  let entry = keys.get(key);
  if (entry === undefined) {
    entry = new KeyEntry(keys.size + 1, algorithm, row);
    keys.set(key, entry);
  }
  entry.row = row;
  return entry.number;
}

/** Whether the wire has no numbers left for the request's keys and policies, if all are new. */
function lacksPlaces(keys: number, policies: number, charges: readonly Charge[]): boolean {
  const length = placesOf(charges);
  return keys + length > MAX_KEYS || policies + length > MAX_POLICIES;
}

/** Whether a key is there with another algorithm: the meaning of its state would depend on the algorithm that reads it. */
function mixes(keys: ReadonlyMap<string, KeyEntry>, charges: readonly Charge[]): boolean {
  for (let i = 0; i < charges.length; i++) {
    const { key, algorithm, block } = charges[i]!;
    const entry = keys.get(key);
    if (entry !== undefined && entry.algorithm !== algorithm) return true;
    const blocked = block && keys.get(block.key);
    if (blocked !== undefined && blocked.algorithm !== block!.algorithm) return true;
  }
  return false;
}

/** Entries that an allowed request, or a settlement, adds to logs at most. */
function entriesOf({ charges, settlements }: Pending): number {
  let entries = 0;
  if (settlements !== undefined) {
    for (let i = 0; i < settlements.length; i++) entries += addedBy(settlements[i]!);
    return entries;
  }
  for (let i = 0; i < charges.length; i++) {
    if (bytesPerCost(charges[i]!.algorithm) > 0 && takes(charges[i]!)) entries += charges[i]!.cost;
  }
  return entries;
}
