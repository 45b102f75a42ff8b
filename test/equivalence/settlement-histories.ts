import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { bytesPerCost } from '../../libs/floodgate/src/algorithms/core/footprint.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { receiptsOf } from '../../libs/floodgate/src/stores/receipt.js';
import type { Charge, ChargeReceipt, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOrNothingOf } from '../support/arbitrary-policies.js';
import { expectHolds } from '../support/expect-same.js';
import { Counterfactual, type ModelCharge } from './counterfactual.js';

/** What happens after a move of the clock. A reservation that no act picks is one of a process that has died. */
type Act =
  | { readonly ask: Cost; readonly mode: 'take' | 'reserve' }
  /** A reservation comes to a part of the largest cost, plus units. A charge that is none is refunded. */
  | { readonly settle: number; readonly part: number; readonly plus: number };

export interface SettlementHistory {
  readonly policy: Policy;
  /** The part of the limit by which settlements may exceed it. */
  readonly overdraft: number;
  readonly start: number;
  readonly steps: readonly { readonly move: Move; readonly act: Act }[];
}

export function settlementHistoriesOf(name: AlgorithmName): fc.Arbitrary<SettlementHistory> {
  const act: fc.Arbitrary<Act> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ ask: costs, mode: fc.constantFrom('take' as const, 'reserve' as const) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        settle: fc.nat({ max: 4 }),
        part: fc.constantFrom(0, 0, 0, 0.1, 0.5, 1, 1, 2, 5),
        plus: fc.integer({ min: -1, max: 2 }),
      }),
    },
  );
  return fc.record({
    policy: policyOrNothingOf(name),
    overdraft: fc.constantFrom(0, 0.5, 1, 1, 3),
    start: starts,
    steps: fc.array(fc.record({ move: forwards, act }), { minLength: 2, maxLength: 30, size: '+1' }),
  });
}

/** A charge that is neither settled nor refunded, and what the counterfactual holds for it. */
interface Made {
  readonly receipt: ChargeReceipt;
  readonly isReserved: boolean;
  readonly charge: ModelCharge;
  /** The number of things that had happened to the key right after the charge, if the store was exact then. */
  readonly aloneSince: number | undefined;
}

/**
 * Plays a history on a store, and compares the key with its counterfactual after each step.
 *
 * @param changed changes the algorithm under test, to show that the comparison finds a wrong one
 */
export function playSettlements(
  { policy, overdraft: overdraftPart, start, steps }: SettlementHistory,
  changed = (algorithm: Algorithm): Algorithm => algorithm,
): void {
  const whole = algorithmOf(policy);
  const algorithm = changed(whole);
  const clock = new MovingClock(start, 0);
  const store = new MemoryStore({ clock: clock.read });
  const model = new Counterfactual(algorithm);
  const overdraft = Math.min(Math.floor(algorithm.limit * overdraftPart), algorithm.overdraft?.max ?? 0);
  const isBucket = algorithm.name.endsWith('bucket');
  const verdicts: Verdict[] = [];
  const open: Made[] = [];
  /** How often the state has changed, and whether it is that of the counterfactual. */
  let [changes, isExact] = [0, true];

  function look(act: Act): number {
    const { remaining, resetAfter } = store.consume([{ key: 'key', algorithm, cost: 0 }]).charges[0]!;
    const seen = { remaining, resetAfter: isBucket ? resetAfter : 0 };
    const wanted = model.seen(clock.now);
    const about = (): object => ({ act, now: clock.now, seen, wanted });
    expectHolds(seen.remaining <= wanted.remaining && seen.resetAfter >= wanted.resetAfter, about);
    isExact = seen.remaining === wanted.remaining && seen.resetAfter === wanted.resetAfter;
    expectHolds(isBucket || isExact, about);
    return remaining;
  }

  for (const { move, act } of steps) {
    clock.move(move, whole, verdicts);
    look(act);
    const about = (): object => ({ act, now: clock.now });
    if ('ask' in act) {
      const cost = costFor(whole, act.ask);
      const asked: Charge = { key: 'key', algorithm, cost, mode: act.mode };
      const verdict = store.consume([asked]);
      verdicts.push(verdict);
      if (!verdict.allowed) continue;
      expectHolds(model.fits(clock.now, cost || 1), about);
      const charge = model.charge(clock.now, cost);
      if (cost > 0) changes++;
      for (const receipt of cost > 0 ? receiptsOf([asked], verdict) : []) {
        open.push({ receipt, isReserved: act.mode === 'reserve', charge, aloneSince: isExact ? changes : undefined });
      }
      look(act);
      continue;
    }
    const at = open.length - 1 - act.settle;
    const [made] = at < 0 ? [] : open.splice(at, 1);
    if (made === undefined) continue;
    const { receipt, isReserved, charge, aloneSince } = made;
    const finalCost = !isReserved ? 0 : Math.max(0, Math.floor(Math.min(whole.maxCost, 1_000) * act.part) + act.plus);
    if (!isReserved) store.refund([receipt]);
    const [settled] = isReserved ? store.settle([{ receipt, finalCost, overdraft }]) : [{ refunded: 0, charged: 0 }];
    const { refunded, charged } = settled!;
    // A refund that came to nothing has changed the counterfactual nevertheless.
    const change = finalCost === receipt.cost ? 0 : 1;
    changes += change;
    const more = Math.max(0, finalCost - receipt.cost);
    expectHolds(charged <= more && refunded! <= Math.max(0, receipt.cost - finalCost), about);
    model.charge(clock.now, charged);
    charge.cost = Math.min(charge.cost, finalCost);
    const remaining = look(act);
    const { numbers } = algorithm.wire;
    const isFast = algorithm.delays && numbers[0]! > numbers[1]!;
    // Nothing else has happened to the key: the refund is exact. That of a plain charge is so in its instant.
    const isExpected = isReserved || receipt.at === clock.now;
    const isAlone = isExpected && aloneSince !== undefined && aloneSince + change === changes;
    expectHolds(!isAlone || charged > 0 || isExact || isFast, about);
    // What is not charged is beyond the overdraft. A log takes 1,000 entries at once.
    const most = bytesPerCost(algorithm) > 0 ? 1_000 : Infinity;
    expectHolds(charged === Math.min(more, most) || remaining === 0, about);
  }
}
