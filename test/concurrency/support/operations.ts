import { type Decision, MemoryStore, type Policy } from 'nestjs-floodgate';
import { algorithmOf } from '../../support/algorithm-of.js';
import { TestClock } from '../../support/test-clock.js';

/** The policies' decisions on one request, in whole microseconds of the store's clock. */
export interface Told {
  readonly at: number;
  readonly policies: readonly Readonly<
    Record<'allowed' | 'remaining' | 'resetAfter' | 'retryAfter' | 'delay', number>
  >[];
}

/** Equal requests that were made at once. The store decides them one right after the other, or none of them. */
export interface Operation {
  /** The only operation of this identity. Its charges on `MARK` show the outcome. */
  readonly user: string;
  /** Indexes of `TARGETS`. */
  readonly targets: readonly number[];
  /** Microseconds of a clock that all processes share. */
  readonly invokedAt: number;
  readonly answeredAt: number;
  /** The number of requests. */
  readonly times: number;
  /** One for each request; empty when no answer arrived. */
  readonly told: readonly Told[];
}

/** The outcome of an operation, as Redis recorded it. */
export interface Trace {
  /** The number of admitted requests. */
  readonly admitted: number;
  /** The instant of the last admission. */
  readonly at: number;
}

/** Global policies, so that all processes compete. Some reject and some admit. Redis stores the long log differently. */
const SHARED: readonly Policy[] = [
  { name: 'tokens', algorithm: 'token-bucket', capacity: 20, refill: 700 },
  { name: 'queue', algorithm: 'leaky-bucket', capacity: 20, drain: 700 },
  { name: 'window', algorithm: 'fixed-window', limit: 60, window: 90 },
  { name: 'log', algorithm: 'sliding-window-log', limit: 60, window: 90 },
  { name: 'long-log', algorithm: 'sliding-window-log', limit: 300, window: 400 },
  { name: 'counter', algorithm: 'sliding-window-counter', limit: 60, window: 90 },
];
export const COSTS = [1, 2, 3];
/** Each shared policy with each cost: first all policies with the first cost, then all with the second. */
export const TARGETS = COSTS.flatMap((cost) => SHARED.map((policy): Policy => ({ ...policy, by: 'global', cost })));
export const KINDS = SHARED.length;

/** Numbers the admissions: its `remaining` gives the number of admissions before. */
export const ORDER: Policy = {
  name: 'order',
  algorithm: 'fixed-window',
  limit: 1_000_000_000,
  window: '36500d',
  by: 'global',
};
/** A log of each operation's own: one instant for each admitted request. Twice as many would fit. */
export const MAX_TIMES = 4;
export const MARK: Policy = { name: 'mark', algorithm: 'sliding-window-log', limit: 2 * MAX_TIMES, window: '1h' };

export const policiesOf = (targets: readonly number[]): Policy[] => [...targets.map((i) => TARGETS[i]!), ORDER, MARK];

const micros = (ms: number): number => Math.round(ms * 1000);

export function toldBy({ decidedAtMs, policies }: Decision): Told {
  return {
    at: micros(decidedAtMs),
    policies: policies.map(({ allowed, remaining, resetAfterMs, retryAfterMs, delayMs }) => ({
      allowed: Number(allowed),
      remaining,
      resetAfter: micros(resetAfterMs),
      retryAfter: retryAfterMs === null ? Infinity : micros(retryAfterMs),
      delay: micros(delayMs),
    })),
  };
}

/** The instant of an operation's decision, and its position among those of the same microsecond. */
interface Place {
  readonly operation: Operation;
  readonly at: number;
  /** The `remaining` of `ORDER` afterwards; unknown when the answer was lost. */
  readonly left: number | undefined;
}

const ORDER_FROM_END = 2;

/**
 * The decided operations in the program's order: by its clock, and within one run (which shares one instant) by the number on
 * `ORDER`. Operations without an answer keep the order of their requests, since their process sent them together. A rejected
 * operation without an answer changed nothing, and is left out.
 */
export function inOrder(operations: readonly Operation[], traceOf: (operation: Operation) => Trace): Operation[] {
  const places: Place[] = [];
  for (const operation of operations) {
    const [first] = operation.told;
    const trace = traceOf(operation);
    if (first !== undefined) {
      places.push({ operation, at: first.at, left: first.policies.at(-ORDER_FROM_END)!.remaining });
    } else if (trace.admitted > 0) places.push({ operation, at: trace.at, left: undefined });
  }
  const compare = (a: Place, b: Place): number =>
    a.at - b.at ||
    (a.left === undefined || b.left === undefined ? 0 : b.left - a.left) ||
    Number(isRefused(a)) - Number(isRefused(b)) ||
    a.operation.invokedAt - b.operation.invokedAt;
  return places.toSorted(compare).map(({ operation }) => operation);
}

/** A rejection leaves the `remaining` of the admission before it. */
const isRefused = ({ operation }: Place): boolean =>
  operation.told[0]?.policies.some(({ allowed }) => allowed === 0) ?? false;

/** The first operation that the order puts after one that was invoked only after its answer. */
export function misplaced(
  order: readonly Operation[],
): { readonly operation: Operation; readonly after: number } | undefined {
  let latest = -Infinity;
  for (const operation of order) {
    latest = Math.max(latest, operation.invokedAt);
    if (operation.answeredAt < latest) return { operation, after: latest };
  }
  return undefined;
}

/** The first operation whose decision differs from a store in this process that decides them in this order. */
export function differing(
  order: readonly Operation[],
  traceOf: (operation: Operation) => Trace,
): { readonly index: number; readonly operation: Operation; readonly expected: readonly Told[] } | undefined {
  const clock = new TestClock();
  const store = new MemoryStore({ clock: clock.read });
  const algorithms = new Map([...TARGETS, ORDER, MARK].map((policy) => [policy, algorithmOf(policy)]));
  for (const [index, operation] of order.entries()) {
    const { told, targets, times, user } = operation;
    const trace = traceOf(operation);
    clock.now = told[0]?.at ?? trace.at;
    const charges = policiesOf(targets).map((policy) => ({
      key: policy === MARK ? `${policy.name} of ${user}` : policy.name!,
      algorithm: algorithms.get(policy)!,
      cost: Number(policy.cost ?? 1),
    }));
    const verdicts = Array.from({ length: times }, () => store.consume(charges));
    const expected = verdicts.map(({ at, charges: all }): Told => ({
      at,
      policies: all.map((charge) => ({ ...charge, allowed: Number(charge.allowed) })),
    }));
    const admitted = verdicts.filter(({ allowed }) => allowed).length;
    const same = told.length === 0 || JSON.stringify(told) === JSON.stringify(expected);
    if (!same || admitted !== trace.admitted) return { index, operation, expected };
  }
  return undefined;
}
