import type { Algorithm } from '../../algorithms/algorithm.js';
import { algorithmNumber } from '../../algorithms/registry.js';
import { type Charge, RateLimitStoreError, type Verdict } from '../store.js';
import { allFit, chargeAll, sameCharges, verdictOf } from '../verdict.js';

interface Waiter {
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (error: Error) => void;
}

/** Identical requests that may be decided in one go, one after the other. */
interface Row {
  readonly charges: readonly Charge[];
  /** 4 characters for each charge but the count, which is known at the end. */
  readonly policies: readonly number[];
  readonly keys: readonly number[];
  readonly waiters: Waiter[];
}

/** 7 bits each on the wire: a policy (its 7th says that the request goes on), a key; a count has 14. */
const MAX_POLICIES = 63;
const MAX_KEYS = 127;
const MAX_COUNT = 2 ** 14 - 1;
const MORE = 64;
/** Rows of a slice: few enough that Redis works on one while Node writes the next. */
const MAX_ROWS = 32;

const FAILURES: Readonly<Record<number, string>> = {
  [-1]: 'a key holds a foreign type: something else writes under the key prefix',
  [-2]: 'a key holds an unreadable state: something else writes under the key prefix',
};

/**
 * Requests that go to Redis in one EVALSHA (the header of lua/program.lua describes the wire). Identical requests become
 * one row with a count, but only while no other row has touched their keys since: the order of requests on a key decides
 * what they get.
 */
export class Slice {
  private readonly rows: Row[] = [];
  private readonly keys = new Map<string, number>();
  /** For each key the last row that touched it, and the one algorithm that its requests share. */
  private readonly lastRows: Row[] = [];
  private readonly algorithms: Algorithm[] = [];
  private readonly policies: Pick<Charge, 'algorithm' | 'cost'>[] = [];

  /** Takes a request in, or says that it does not fit any more. */
  add(charges: readonly Charge[], waiter: Waiter): boolean {
    const row = this.repeated(charges);
    if (row !== undefined) {
      row.waiters.push(waiter);
      return true;
    }
    const { rows, keys, policies } = this;
    const full =
      rows.length >= MAX_ROWS ||
      keys.size + charges.length > MAX_KEYS ||
      policies.length + charges.length > MAX_POLICIES;
    if (rows.length > 0 && (full || this.mixes(charges))) return false;
    const added: Row = {
      charges,
      policies: charges.map((charge) => this.policyIndex(charge)),
      keys: charges.map((charge) => this.keyIndex(charge)),
      waiters: [waiter],
    };
    rows.push(added);
    for (const index of added.keys) this.lastRows[index] = added;
    return true;
  }

  /** KEYS of the program. */
  encodeKeys(): string[] {
    return [...this.keys.keys()];
  }

  /** ARGV[3] and ARGV[4] of the program. */
  encodeArguments(): [policies: string, charges: string] {
    const policies = this.policies.map(
      ({ algorithm, cost }) => `[${algorithmNumber(algorithm.name)},${cost},${algorithm.wire.join()}]`,
    );
    let text = '';
    for (const { policies: indices, keys, waiters } of this.rows) {
      const last = indices.length - 1;
      for (let i = 0; i <= last; i++) {
        const policy = indices[i]! + 1 + (i < last ? MORE : 0);
        text += String.fromCharCode(policy, keys[i]! + 1, waiters.length >>> 7, waiters.length & 127);
      }
    }
    return [`[${policies.join()}]`, text];
  }

  /** Answers every request from the program's reply. */
  settle(reply: readonly number[]): void {
    const at = reply[0]!;
    let offset = 1;
    for (const { charges, waiters } of this.rows) {
      const failure = FAILURES[reply[offset]!];
      if (failure !== undefined) {
        offset++;
        for (const { reject } of waiters) reject(new RateLimitStoreError(failure));
        continue;
      }
      let levels: unknown[] = charges.map(({ algorithm }) => {
        const level = algorithm.decode(reply, offset);
        offset += algorithm.replyLength;
        return level;
      });
      for (const { resolve } of waiters) {
        const allowed = allFit(charges, levels);
        const after = allowed ? chargeAll(charges, levels) : levels;
        resolve(verdictOf(charges, levels, after, allowed, at));
        levels = after;
      }
    }
  }

  /** Answers every request with the failure of all. */
  fail(error: Error): void {
    for (const { waiters } of this.rows) for (const { reject } of waiters) reject(error);
  }

  private repeated(charges: readonly Charge[]): Row | undefined {
    let row: Row | undefined;
    for (const { key } of charges) {
      const index = this.keys.get(key);
      const last = index === undefined ? undefined : this.lastRows[index];
      if (last === undefined || (row !== undefined && row !== last)) return undefined;
      row = last;
    }
    return row !== undefined && row.waiters.length < MAX_COUNT && sameCharges(row.charges, charges) ? row : undefined;
  }

  private policyIndex({ algorithm, cost }: Charge): number {
    const known = this.policies.findIndex((policy) => policy.algorithm === algorithm && policy.cost === cost);
    return known >= 0 ? known : this.policies.push({ algorithm, cost }) - 1;
  }

  /** Whether a key is here with another algorithm: what its state means would depend on which of them reads it. */
  private mixes(charges: readonly Charge[]): boolean {
    return charges.some(({ key, algorithm }) => {
      const index = this.keys.get(key);
      return index !== undefined && this.algorithms[index] !== algorithm;
    });
  }

  private keyIndex({ key, algorithm }: Charge): number {
    const known = this.keys.get(key);
    if (known !== undefined) return known;
    this.keys.set(key, this.keys.size);
    return this.algorithms.push(algorithm) - 1;
  }
}
