import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import type { ChargeVerdict, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';

/** The course of one key under one policy: requests in the order of a clock that does not step back. */
export interface Course {
  readonly policy: Policy;
  readonly start: number;
  readonly requests: readonly { readonly move: Move; readonly cost: Cost }[];
}

/** A request of a course, and what it was told. */
export interface Told extends ChargeVerdict {
  readonly at: number;
  readonly cost: number;
}

export function coursesOf(name: AlgorithmName): fc.Arbitrary<Course> {
  const request = fc.record({ move: forwards, cost: costs });
  return fc.record({
    policy: policyOf(name),
    start: starts,
    requests: fc.array(request, { minLength: 1, maxLength: 40, size: '+1' }),
  });
}

/** Runs a course in memory; `each` sees every request right after it was decided. */
export function run(course: Course, each: (told: Told, algorithm: Algorithm) => void = () => undefined): Told[] {
  const algorithm = algorithmOf(course.policy);
  const clock = new MovingClock(course.start, 0);
  const store = new MemoryStore({ clock: clock.read });
  let verdicts: Verdict[] = [];
  return course.requests.map(({ move, cost: asked }) => {
    clock.move(move, algorithm, verdicts);
    const cost = costFor(algorithm, asked);
    const verdict = store.consume([{ key: 'key', algorithm, cost }]);
    verdicts = [verdict];
    const told = { at: clock.now, cost, ...verdict.charges[0]! };
    each(told, algorithm);
    return told;
  });
}

/** What was charged: the admitted requests, peeks aside. */
export function admitted(all: readonly Told[]): Told[] {
  return all.filter(({ allowed, cost }) => allowed && cost > 0);
}

/** The largest sum of the costs of neighbouring admissions of which the last is less than `length` after the first. */
export function mostWithin(admissions: readonly Told[], length: number): number {
  let most = 0;
  for (const [i, { at }] of admissions.entries()) {
    let sum = 0;
    for (let j = i; j < admissions.length && admissions[j]!.at < at + length; j++) sum += admissions[j]!.cost;
    most = Math.max(most, sum);
  }
  return most;
}
