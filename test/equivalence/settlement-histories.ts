import { bytesPerCost } from '../../libs/rate-limit/src/algorithms/capabilities/footprint.js';
import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { Reservation } from '../../libs/rate-limit/src/engine/settling/reservation.js';
import { ReservationClosedError } from '../../libs/rate-limit/src/engine/errors.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import type {
  Charge,
  ChargeReceipt,
  RateLimitStore,
  SettledCharge,
  Verdict,
} from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectHolds } from '../support/expect-same.js';
import { Counterfactual, type ModelCharge, type Seen } from './counterfactual.js';

/** What a reservation comes to: a part of the reserved cost, plus units. */
interface Final {
  readonly part: number;
  readonly plus: number;
}

/** What happens after a move of the clock. A reservation that no act picks is one of a process that has died. */
type Act =
  | { readonly ask: Cost; readonly mode: 'take' | 'reserve'; readonly both: boolean }
  | { readonly settle: number; readonly final: Final }
  | { readonly cancel: number }
  | { readonly again: number; readonly final: Final };

export interface SettlementHistory {
  readonly policy: Policy;
  /** The part of the limit by which settlements may exceed it. */
  readonly overdraft: number;
  readonly second: number;
  readonly start: number;
  readonly steps: readonly { readonly move: Move; readonly act: Act }[];
}

const pick = fc.nat({ max: 4 });
const final = fc.record({ part: fc.constantFrom(0, 0, 0.1, 0.5, 1, 1, 2, 5), plus: fc.integer({ min: -1, max: 2 }) });

export function settlementHistoriesOf(name: AlgorithmName): fc.Arbitrary<SettlementHistory> {
  const ask = { ask: costs, mode: fc.constantFrom('take' as const, 'reserve' as const), both: fc.boolean() };
  const act: fc.Arbitrary<Act> = fc.oneof(
    { weight: 6, arbitrary: fc.record(ask) },
    { weight: 4, arbitrary: fc.record({ settle: pick, final }) },
    { weight: 1, arbitrary: fc.record({ cancel: pick }) },
    { weight: 1, arbitrary: fc.record({ again: pick, final }) },
  );
  return fc.record({
    policy: policyOf(name),
    overdraft: fc.constantFrom(0, 0.5, 1, 1, 3),
    second: fc.integer({ min: 1, max: 12 }),
    start: starts,
    steps: fc.array(fc.record({ move: forwards, act }), { minLength: 2, maxLength: 30, size: '+1' }),
  });
}

/** A charge of a reservation, and what the counterfactual holds for it. */
interface Made {
  readonly place: Place;
  readonly receipt: ChargeReceipt;
  readonly model: ModelCharge;
  /** The number of things that had happened to the key right after the charge, if the store was exact then. */
  readonly aloneSince: number | undefined;
}

/** A key with its algorithm. */
interface Place {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly overdraft: number;
  readonly model: Counterfactual;
  /** How often its state has changed. */
  changes: number;
  exact: boolean;
}

/**
 * Plays a history on a store, and compares every key with its counterfactual after each step.
 *
 * @param changed changes the algorithm under test, to show that the comparison finds a wrong one
 */
export async function playSettlements(
  history: SettlementHistory,
  open: (clock: () => number) => RateLimitStore,
  changed = (algorithm: Algorithm): Algorithm => algorithm,
): Promise<void> {
  const { policy, overdraft, second, start, steps } = history;
  const whole = algorithmOf(policy);
  const clock = new MovingClock(start, 0);
  const store = open(clock.read);
  const placeOf = (key: string, algorithm: Algorithm): Place => ({
    key,
    algorithm,
    overdraft: Math.min(Math.floor(algorithm.limit * overdraft), algorithm.overdraft?.max ?? 0),
    model: new Counterfactual(algorithm),
    changes: 0,
    exact: true,
  });
  const one = placeOf('one', changed(whole));
  const other = placeOf('other', algorithmOf({ algorithm: 'fixed-window', limit: second, window: '1h' }));
  const said: (Verdict | readonly (SettledCharge | undefined)[])[] = [];
  const verdicts: Verdict[] = [];
  const reservations: Reservation[] = [];
  const context = (): object => ({ history, now: clock.now, said: said.at(-1) });

  async function look(place: Place): Promise<number> {
    const verdict = await store.consume([{ key: place.key, algorithm: place.algorithm, cost: 0 }]);
    const { remaining, resetAfter } = verdict.charges[0]!;
    const isBucket = place.algorithm.name.endsWith('bucket');
    const seen: Seen = { remaining, resetAfter: isBucket ? resetAfter : 0 };
    const wanted = place.model.seen(clock.now);
    expectHolds(seen.remaining <= wanted.remaining && seen.resetAfter >= wanted.resetAfter, () => ({
      ...context(),
      seen,
      wanted,
    }));
    place.exact = seen.remaining === wanted.remaining && seen.resetAfter === wanted.resetAfter;
    expectHolds(isBucket || place.exact, () => ({ ...context(), seen, wanted }));
    return remaining;
  }

  async function ask(act: Extract<Act, { ask: Cost }>): Promise<void> {
    const cost = costFor(whole, act.ask);
    const places = act.both ? [one, other] : [one];
    const charges = places.map(({ key, algorithm }, i): Charge => ({
      key,
      algorithm,
      cost: i === 0 ? cost : Math.min(cost, 2),
      mode: act.mode,
    }));
    const verdict = await store.consume(charges);
    said.push(verdict);
    verdicts.push(verdict);
    if (!verdict.allowed) return;
    const made = places.map((place, i): Made => {
      const fits = place.model.fits(clock.now, charges[i]!.cost || 1);
      expectHolds(fits, () => ({ ...context(), over: place.key }));
      const model = place.model.charge(clock.now, charges[i]!.cost);
      if (charges[i]!.cost > 0) place.changes++;
      return {
        place,
        receipt: verdict.charges[i]!.receipt!,
        model,
        aloneSince: place.exact ? place.changes : undefined,
      };
    });
    if (act.mode === 'reserve') reservations.push(reservationOf(made));
  }

  function reservationOf(made: readonly Made[]): Reservation {
    const settle = async (finalCost: number): Promise<never> => {
      const settlements = made.map(({ receipt, place }) => ({ receipt, finalCost, overdraft: place.overdraft }));
      const settled = await store.settle!(settlements);
      said.push(settled);
      for (const [i, { place, receipt, model, aloneSince }] of made.entries()) {
        const { refunded, charged } = settled[i]!;
        // A refund that came to nothing has changed the counterfactual nevertheless.
        const change = finalCost === receipt.cost ? 0 : 1;
        place.changes += change;
        const more = Math.max(0, finalCost - receipt.cost);
        expectHolds(charged <= more && refunded! <= Math.max(0, receipt.cost - finalCost), context);
        place.model.charge(clock.now, charged);
        const { numbers } = place.algorithm.wire;
        const isFast = place.algorithm.delays && numbers[0]! > numbers[1]!;
        model.cost = Math.min(model.cost, finalCost);
        const remaining = await look(place);
        // Nothing else has happened to the key: the refund is exact.
        const alone = aloneSince !== undefined && aloneSince + change === place.changes;
        expectHolds(!alone || charged > 0 || place.exact || isFast, context);
        // What is not charged is beyond the overdraft. A log takes 1,000 entries at once.
        const most = bytesPerCost(place.algorithm) > 0 ? 1_000 : Infinity;
        expectHolds(charged === Math.min(more, most) || remaining === 0, context);
      }
      return undefined as never;
    };
    return new Reservation({ allowed: true } as never, { check: () => undefined, settle });
  }

  const closed: Reservation[] = [];
  const costOf = ({ part, plus }: Final): number => {
    const reserved = Math.min(whole.maxCost, 1_000);
    return Math.max(0, Math.floor(reserved * part) + plus);
  };
  for (const { move, act } of steps) {
    clock.move(move, whole, verdicts);
    for (const place of [one, other]) await look(place);
    if ('ask' in act) await ask(act);
    else if ('again' in act) {
      const reservation = closed.at(-1 - act.again);
      if (reservation === undefined) continue;
      const before = said.length;
      const error = await reservation.settle(costOf(act.final)).catch((thrown: unknown) => thrown);
      expectHolds(error instanceof ReservationClosedError && said.length === before, () => ({ error }));
    } else {
      const at = reservations.length - 1 - ('settle' in act ? act.settle : act.cancel);
      const [reservation] = at < 0 ? [] : reservations.splice(at, 1);
      if (reservation === undefined) continue;
      closed.push(reservation);
      await ('settle' in act ? reservation.settle(costOf(act.final)) : reservation.cancel());
    }
    for (const place of [one, other]) await look(place);
  }
}
