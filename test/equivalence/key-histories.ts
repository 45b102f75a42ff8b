import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type { ChargeVerdict, Verdict } from '../../libs/floodgate/src/stores/store.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { headroomIn } from '../../libs/floodgate/src/policy/priorities.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, parts, policyOrNothingOf } from '../support/arbitrary-policies.js';

/** The requests on one key under one policy, on a clock that does not step back. */
export interface KeyHistory {
  readonly policy: Policy;
  readonly start: number;
  readonly requests: readonly { readonly move: Move; readonly cost: Cost; readonly part: number }[];
}

/** A request of a history, and its verdict. */
export interface Answer extends ChargeVerdict {
  readonly at: number;
  readonly cost: number;
  readonly headroom: number;
}

export function keyHistoriesOf(name: AlgorithmName): fc.Arbitrary<KeyHistory> {
  const request = fc.record({ move: forwards, cost: costs, part: parts });
  return fc.record({
    policy: policyOrNothingOf(name),
    start: starts,
    requests: fc.array(request, { minLength: 1, maxLength: 40, size: '+1' }),
  });
}

/** Decides a history in memory; `each` gets every request right after its decision. */
export function replay(
  history: KeyHistory,
  each: (answer: Answer, algorithm: Algorithm) => void = () => undefined,
): Answer[] {
  const algorithm = algorithmOf(history.policy);
  const clock = new MovingClock(history.start, 0);
  const store = new MemoryStore({ clock: clock.read });
  let verdicts: Verdict[] = [];
  return history.requests.map(({ move, cost: asked, part }) => {
    clock.move(move, algorithm, verdicts);
    const cost = costFor(algorithm, asked);
    const headroom = headroomIn(algorithm, part);
    const verdict = store.consume([{ key: 'key', algorithm, cost, headroom }]);
    verdicts = [verdict];
    const answer = { at: clock.now, cost, headroom, ...verdict.charges[0]! };
    each(answer, algorithm);
    return answer;
  });
}

/** The requests that were charged: admitted, and no peeks. */
export function admitted(all: readonly Answer[]): Answer[] {
  return all.filter(({ allowed, cost }) => allowed && cost > 0);
}
