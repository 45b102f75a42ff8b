import type { Policy } from '../../policy/policy.js';
import type { ChargeVerdict } from '../../stores/store.js';

/** Midnight of a day in 2024, in microseconds. The instants of the tables count from it, and every window begins at it. */
export const ORIGIN = 19_900 * 86_400_000_000;
export const MILLISECOND = 1_000;
export const SECOND = 1_000_000;
export const MINUTE = 60 * SECOND;

/** A request's instant in microseconds from `ORIGIN`, its cost, and the expected verdict. */
export type Step = readonly [at: number, cost: number, expected: ChargeVerdict];

/** Requests to one key of a policy, in their order. */
export interface Table {
  readonly policy: Policy;
  /** Default 0: every state ahead of the clock is rebased. */
  readonly maxSkewMs?: number;
  readonly steps: readonly Step[];
}

/** Tables by what they show. */
export type Tables = Readonly<Record<string, Table>>;

/** The verdict on an allowed request. */
export function pass(remaining: number, resetAfter: number, delay = 0): ChargeVerdict {
  return { allowed: true, remaining, resetAfter, retryAfter: 0, delay };
}

/** The verdict on a rejected request. */
export function reject(remaining: number, resetAfter: number, retryAfter: number): ChargeVerdict {
  return { allowed: false, remaining, resetAfter, retryAfter, delay: 0 };
}

/** Makes a step for each number from 0: `repeat(20, (i) => [0, 1, pass(19 - i, ...)])`. */
export function repeat(times: number, step: (i: number) => Step): Step[] {
  return Array.from({ length: times }, (_, i) => step(i));
}
