import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { TokenBucket } from '../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
import { PrefetchBucket } from '../../libs/floodgate/src/algorithms/token-bucket/prefetch-bucket.js';
import { OpenCharges } from '../../libs/floodgate/src/layers/estimates/open-charges.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type {
  Charge,
  ChargeMode,
  ChargeReceipt,
  ChargeVerdict,
  Verdict,
} from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOrNothingOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';

const SECOND = 1_000_000;
/** For longer a charge does not count as open. */
const LONGEST_OPEN = 600 * SECOND;

/** Requests of one turn of the event loop, or the settlement of a reservation that is open. */
type Act = { readonly asks: readonly Ask[] } | { readonly settle: number; readonly part: number };

interface Ask {
  readonly cost: Cost;
  readonly mode: ChargeMode;
}

interface History {
  readonly policy: Policy;
  readonly start: number;
  readonly steps: readonly { readonly move: Move; readonly act: Act }[];
}

const modes = fc.constantFrom<ChargeMode>('reserve', 'reserve', 'reserve', 'take', 'peek');
const asks = fc.array(fc.record({ cost: costs, mode: modes }), { minLength: 1, maxLength: 4 });
const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ asks }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat({ max: 5 }), part: fc.constantFrom(0, 0, 0.3, 1, 2) }) },
);
/** Mostly short: a charge of long ago is not open any more. */
const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ by: 0 }) },
  { weight: 2, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 2 * SECOND }) }) },
  { weight: 2, arbitrary: forwards },
);

function historiesOf(policies: fc.Arbitrary<Policy>): fc.Arbitrary<History> {
  const steps = fc.array(fc.record({ move: moves, act: acts }), { minLength: 2, maxLength: 20, size: '+1' });
  return fc.record({ policy: policies, start: starts, steps });
}

/** What has happened to the store, so that it can happen again. */
type Past = { readonly at: number } & (
  { readonly charge: Charge } | { readonly settled: number; readonly cost: number }
);

/** Everything happens again in a new store, which knows nothing of open charges. */
function again(
  past: readonly Past[],
  now: number,
  charge: Charge,
): { rejects: ChargeVerdict; fitsWithoutOpen: boolean } {
  const time = { now: 0 };
  const store = new MemoryStore({ clock: () => time.now });
  const open = new Map<number, ChargeReceipt>();
  for (const [i, one] of past.entries()) {
    time.now = one.at;
    if ('charge' in one) {
      const { receipt } = store.consume([one.charge]).charges[0]!;
      if (receipt !== undefined && one.charge.cost > 0) open.set(i, receipt);
    } else {
      store.settle([{ receipt: open.get(one.settled)!, finalCost: one.cost, overdraft: overdraftOf(charge) }]);
      open.delete(one.settled);
    }
  }
  time.now = now;
  const peek: Charge = { ...charge, mode: 'peek' };
  const rejects = store.consume([peek]).charges[0]!;
  const left = [...open.values()].filter(({ at }) => at + LONGEST_OPEN > now);
  // The last slots of a queue are freed first.
  for (const receipt of left.toReversed().toSorted((one, other) => other.resetAt - one.resetAt))
    store.refund([receipt]);
  return { rejects, fitsWithoutOpen: store.consume([peek]).allowed };
}

/** A settlement may exceed the limit a little. */
function overdraftOf({ algorithm }: Charge): number {
  return Math.min(3, algorithm.overdraft?.max ?? 0);
}

interface Counts {
  estimated: number;
  certain: number;
}

/** Plays a history, and compares each rejection with the oracle. */
async function play({ start, steps }: History, algorithm: Algorithm, counts: Counts): Promise<Verdict[]> {
  const clock = new MovingClock(start, 0);
  const store = new MemoryStore({ clock: clock.read });
  const openCharges = new OpenCharges();
  const past: Past[] = [];
  const open: { readonly index: number; readonly charge: Charge; readonly receipt: ChargeReceipt }[] = [];
  const said: Verdict[] = [];
  for (const { move, act } of steps) {
    clock.move(move, algorithm, said);
    const at = clock.now;
    if ('settle' in act) {
      const [one] = open.splice(act.settle % Math.max(1, open.length), 1);
      if (one === undefined) continue;
      const { charge, receipt, index } = one;
      const cost = Math.min(Math.floor(charge.cost * act.part), charge.cost + 1_000);
      store.settle([{ receipt, finalCost: cost, overdraft: overdraftOf(charge) }]);
      openCharges.close(charge, receipt);
      past.push({ at, settled: index, cost });
      continue;
    }
    const charges = act.asks.map(({ cost, mode }): Charge => ({
      key: 'one',
      policyKey: 'policy',
      algorithm,
      cost: Math.min(1_000, costFor(algorithm, cost)),
      mode,
    }));
    const decide = async (charge: Charge): Promise<Verdict> =>
      openCharges.concerns([charge])
        ? openCharges.decide([charge], (asked) => store.consume(asked))
        : store.consume([charge]);
    const verdicts = await Promise.all(charges.map(decide));
    for (const [i, verdict] of verdicts.entries()) {
      const charge = charges[i]!;
      const one = verdict.charges[0]!;
      said.push(verdict);
      if (verdict.allowed) {
        if (charge.mode === 'reserve' && charge.cost > 0)
          open.push({ index: past.length, charge, receipt: one.receipt! });
        past.push({ at, charge });
        continue;
      }
      const { rejects, fitsWithoutOpen } = again(past, at, charge);
      counts[fitsWithoutOpen ? 'estimated' : 'certain']++;
      const { shortfall: _, ...told } = one;
      const retryAfter = Math.min(rejects.retryAfter, SECOND);
      expectSame({ ...told }, fitsWithoutOpen ? { ...rejects, retryAfter, estimated: true } : { ...rejects });
    }
  }
  return said;
}

const RESERVABLE = ALL_ALGORITHMS.filter((name) => name !== 'concurrency');

/** The first rejection of it is an estimate, and the second one is certain. */
function bothOf(policy: Policy): History {
  const all = { cost: { ofLargest: 1, plus: 0 }, mode: 'reserve' } as const;
  const one = { cost: { units: 1 }, mode: 'take' } as const;
  const inTurn = [{ asks: [all] }, { asks: [one] }, { settle: 0, part: 1 }, { asks: [one] }];
  return { policy, start: 0, steps: inTurn.map((act) => ({ move: { by: 0 }, act })) };
}

async function expectEstimates(name: AlgorithmName, make: (policy: Policy) => Algorithm = algorithmOf): Promise<void> {
  const counts = { estimated: 0, certain: 0 };
  const property = fc.asyncProperty(historiesOf(policyOrNothingOf(name)), async (history) => {
    await play(history, make(history.policy), counts);
  });
  await fc.assert(property, { ...histories(), examples: [[bothOf(SMALL_POLICIES[name])]] });
  expect([counts.estimated > 0, counts.certain > 0]).toEqual([true, true]);
}

describe('a rejection is an estimate if and only if it would pass once all open charges are refunded', () => {
  it.each(RESERVABLE)('%s', (name) => expectEstimates(name), HISTORY_TIMEOUT_MS);

  it(
    'token-bucket with prefetch',
    () => expectEstimates('token-bucket', (policy) => new PrefetchBucket(algorithmOf(policy) as TokenBucket, SECOND)),
    HISTORY_TIMEOUT_MS,
  );
});
