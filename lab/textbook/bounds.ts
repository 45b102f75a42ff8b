import type { Rate } from './arithmetic.js';

/** A request that was admitted: at a whole microsecond, with its cost; default 1. */
export interface Admission {
  readonly at: number;
  readonly cost?: number;
}

/**
 * By how much the worst interval exceeds burst + rate x t, over all intervals between admissions. 0 or less: the promise of a
 * bucket holds. The sign is exact.
 *
 * @param admissions in any order
 * @param burst the capacity of a token bucket; of a leaky bucket, the capacity and the departing request
 */
export function worstExcess(admissions: readonly Admission[], burst: number, { tokens, microseconds }: Rate): number {
  const [p, q] = [BigInt(tokens), BigInt(microseconds)];
  let taken = 0n;
  let lowest: bigint | undefined;
  let highest: bigint | undefined;
  for (const { at, cost = 1 } of byInstant(admissions)) {
    const gained = BigInt(at) * p;
    // The interval that begins here has not counted what was taken before it.
    if (lowest === undefined || taken - gained < lowest) lowest = taken - gained;
    taken += BigInt(cost) * q;
    const within = taken - gained - lowest;
    if (highest === undefined || within > highest) highest = within;
  }
  return highest === undefined ? 0 : Number(highest - BigInt(burst) * q) / Number(q);
}

/** The largest cost that was admitted in an interval shorter than `length` microseconds. */
export function mostWithin(admissions: readonly Admission[], length: number): number {
  const sorted = byInstant(admissions);
  let [first, sum, most] = [0, 0, 0];
  for (const { at, cost = 1 } of sorted) {
    sum += cost;
    for (; sorted[first]!.at <= at - length; first++) sum -= sorted[first]!.cost ?? 1;
    most = Math.max(most, sum);
  }
  return most;
}

/** The cost that was admitted in each aligned window of `length` microseconds, by the number of the window. */
export function costByWindow(admissions: readonly Admission[], length: number): Map<number, number> {
  const costs = new Map<number, number>();
  for (const { at, cost = 1 } of admissions) {
    const number = Math.floor(at / length);
    costs.set(number, (costs.get(number) ?? 0) + cost);
  }
  return costs;
}

/** The cost that was admitted in each window of `length` microseconds, by its start: it begins with the first cost that finds none. */
export function costByFirstRequest(admissions: readonly Admission[], length: number): Map<number, number> {
  const costs = new Map<number, number>();
  let start = -Infinity;
  for (const { at, cost = 1 } of byInstant(admissions)) {
    if (cost > 0 && at >= start + length) start = at;
    if (cost > 0) costs.set(start, (costs.get(start) ?? 0) + cost);
  }
  return costs;
}

function byInstant(admissions: readonly Admission[]): Admission[] {
  return admissions.toSorted((one, other) => one.at - other.at);
}
