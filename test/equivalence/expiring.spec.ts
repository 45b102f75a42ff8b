import { chargeOf } from '../../libs/floodgate/src/charges/policy-charge.js';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import { assert } from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import type { Reservation } from '../../libs/floodgate/src/holds/settlements/reservation.js';
import { bindPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { keyOf } from '../../libs/floodgate/src/policy/key.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type { Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, periodOf } from '../support/arbitrary-instants.js';
import { costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { ReservingProcess } from '../support/reserving-process.js';
import { SharedLog } from '../support/shared-log.js';
import { Counterfactual, type ModelCharge } from './counterfactual.js';

const DAY = 86_400_000_000;
const LONGEST_MS = 7 * 86_400_000;
const IDENTITY = 'user:ada';

/** In milliseconds, or in periods of the policy. */
const after = fc.oneof(
  fc.record({ ms: fc.oneof(fc.constantFrom(1, 1_000, 60_000, LONGEST_MS), fc.integer({ min: 1, max: 5_000 })) }),
  fc.record({ periods: fc.constantFrom(0.3, 1, 2, 5) }),
);
const pick = fc.nat({ max: 4 });
const index = fc.nat({ max: 2 });
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      process: index,
      reserve: costs,
      after,
      /** What becomes of it at its expiry: all of it stays, nothing, or this part of the reserved cost. */
      rest: fc.constantFrom('keep' as const, 0, 0, 0.3, 0.9),
    }),
  },
  { weight: 1, arbitrary: fc.record({ process: index, take: costs }) },
  // A caller comes to a part of the reserved cost, plus units.
  {
    weight: 5,
    arbitrary: fc.record({
      settle: pick,
      part: fc.constantFrom(0, 0, 0.1, 0.5, 1, 1, 2),
      plus: fc.integer({ min: -1, max: 2 }),
    }),
  },
  // A stalled process runs no timer.
  {
    weight: 5,
    arbitrary: fc.record({ process: index, does: fc.constantFrom('stall', 'stall', 'wake', 'die', 'sweep', 'sweep') }),
  },
);
/** How the clock moves: also to the instant at which an open reservation expires, plus `off` microseconds. */
const move: fc.Arbitrary<Move | { readonly expiry: number; readonly off: number }> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ by: 0 }) },
  { weight: 4, arbitrary: fc.record({ expiry: pick, off: fc.constantFrom(0, 0, -1, 1) }) },
  { weight: 3, arbitrary: forwards },
);
const historiesOf = (name: AlgorithmName) =>
  fc.record({
    policy: policyOf(name),
    overdraws: fc.boolean(),
    // From 2005 to 2008. Until 2039 the milliseconds of an instant are doubles of one exponent, so that an instant and a whole
    // number of milliseconds add up without an error.
    start: fc.integer({ min: 13_000 * DAY, max: 14_000 * DAY }),
    steps: fc.array(fc.record({ move, act }), { minLength: 2, maxLength: 40, size: '+1' }),
  });
type History = ReturnType<typeof historiesOf> extends fc.Arbitrary<infer T> ? T : never;

/** A reservation, as a line of a list. */
interface Held {
  readonly reservation: Reservation;
  readonly cost: number;
  /** Its final cost at the expiry. */
  readonly rest: number;
  readonly dueAt: number;
  readonly model: ModelCharge;
  /** The process whose timer waits for it. */
  timedBy: Running | undefined;
  /** Whether any process may settle it: it is open, and a refund at its expiry can give something back. */
  isLogged: boolean;
  hasExpired: boolean;
}

interface Running {
  readonly process: ReservingProcess;
  open: Held[];
  isStalled: boolean;
  /** The first reservation that may be refunded begins the sweeps. */
  sweeps: boolean;
}

/**
 * Plays a history, and compares each answer and what is left after each step with a list of reservations: each has the instant of its
 * expiry and its final cost then, and a textbook counts all of them at what they have come to. It knows neither timers nor logs.
 */
async function play({ policy: given, overdraws, start, steps }: History, processes: number): Promise<void> {
  const policy = bindPolicy(
    parsePolicy({ ...given, ...(!overdraws && { overdraft: 0 }) }, 'test'),
    'rl',
    'app',
    'test',
  );
  const { algorithm } = policy;
  const isExact = !algorithm.name.endsWith('bucket');
  const clock = new MovingClock(start, 0);
  const store = new MemoryStore({ clock: clock.read });
  const log = processes === 1 ? undefined : new SharedLog(clock.read);
  const model = new Counterfactual(algorithm);
  const list = new Set<Held>();
  const verdicts: Verdict[] = [];
  const begin = (): Running => {
    const process = new ReservingProcess(store, log, clock.read);
    return { process, open: [], isStalled: false, sweeps: false };
  };
  const running = Array.from({ length: processes }, begin);

  const expire = (held: Held): void => {
    held.hasExpired = true;
    held.isLogged = false;
    held.model.cost = Math.min(held.model.cost, held.rest);
  };
  const sweep = (): void => {
    for (const held of list) if (held.isLogged && held.dueAt <= clock.now) expire(held);
  };
  const runTimers = async (): Promise<void> => {
    for (const one of running.filter(({ isStalled }) => !isStalled)) {
      for (const held of list) {
        if (held.timedBy !== one || held.dueAt > clock.now) continue;
        held.timedBy = undefined;
        if (!held.hasExpired) expire(held);
      }
      await one.process.runTimer();
    }
  };
  /** Moves the clock from one expiry to the next: each timer runs at its instant. */
  const advance = async (by: History['steps'][number]['move']): Promise<void> => {
    const from = clock.now;
    if ('expiry' in by) {
      const due = [...list].at(-1 - (by.expiry % Math.max(1, list.size)))?.dueAt ?? from;
      clock.move({ by: Math.max(0, due + by.off - from) }, algorithm, []);
    } else clock.move(by, algorithm, verdicts);
    const to = clock.now;
    for (;;) {
      const next = Math.min(
        ...[...list].filter(({ timedBy }) => timedBy?.isStalled === false).map(({ dueAt }) => dueAt),
      );
      if (next > to) break;
      clock.now = next;
      await runTimers();
    }
    clock.now = to;
    await runTimers();
  };
  const expectFits = (allowed: boolean, cost: number): void => {
    const fits = model.fits(clock.now, cost || 1);
    expectHolds(isExact ? allowed === fits : fits || !allowed, () => ({ now: clock.now, cost, allowed, fits }));
  };
  const settle = async (held: Held, finalCost: number): Promise<void> => {
    list.delete(held);
    held.timedBy = undefined;
    if (clock.now >= held.dueAt && !held.hasExpired) expire(held);
    held.isLogged = false;
    const isLate = held.hasExpired;
    if (!isLate) held.model.cost = Math.min(held.model.cost, finalCost);
    const { settledBy, expired, policies } = await held.reservation.settle(finalCost);
    const { charged, beyondOverdraft, refunded } = policies[0]!;
    model.charge(clock.now, charged);
    const more = Math.max(0, finalCost - (isLate ? held.rest : held.cost));
    expectSame([settledBy, expired, charged + beyondOverdraft], ['store', isLate ? true : undefined, more]);
    expectHolds(!isLate || refunded === 0, () => ({ held, refunded }));
  };

  for (const { move: by, act: does } of steps) {
    await advance(by);
    const at = 'process' in does ? does.process % processes : 0;
    const one = running[at]!;
    if ('take' in does) {
      const cost = costFor(algorithm, does.take);
      const { decision } = await one.process.engine.decide([chargeOf(policy, IDENTITY, cost, 'take')]);
      expectFits(decision.allowed, cost);
      if (decision.allowed) model.charge(clock.now, cost);
    } else if ('reserve' in does) {
      const cost = costFor(algorithm, does.reserve);
      const finalCost = does.rest === 'keep' ? undefined : Math.floor(cost * does.rest);
      const ms = 'ms' in does.after ? does.after.ms : Math.round((does.after.periods * periodOf(algorithm)) / 1_000);
      const openFor = Math.min(LONGEST_MS, Math.max(1, ms)) * 1_000;
      const { expiring } = one.process;
      const charges = [chargeOf(policy, IDENTITY, cost, 'reserve')];
      const reservation = await expiring.reserveUntil({ after: openFor, finalCost }, charges);
      expectFits(reservation.allowed, cost);
      if (finalCost !== undefined && log !== undefined && !one.sweeps) {
        one.sweeps = true;
        sweep();
      }
      if (reservation.allowed) {
        const dueAt = clock.now + openFor;
        const resetAt = clock.now + Math.round(reservation.decision.policies[0]!.resetAfterMs * 1_000);
        const rest = finalCost ?? cost;
        const isLogged = log !== undefined && cost > rest && resetAt > dueAt;
        const charge = model.charge(clock.now, cost);
        const held = { reservation, cost, rest, dueAt, model: charge, timedBy: one, isLogged, hasExpired: false };
        list.add(held);
        one.open.push(held);
      }
    } else if ('settle' in does) {
      const open = running.flatMap((other) => other.open);
      const held = open.at(-1 - (does.settle % Math.max(1, open.length)));
      if (held === undefined) continue;
      for (const other of running) other.open = other.open.filter((mine) => mine !== held);
      await settle(held, Math.max(0, Math.floor(held.cost * does.part) + does.plus));
    } else if (does.does === 'sweep') {
      if (log !== undefined) sweep();
      await one.process.sweep();
    } else if (does.does === 'die') {
      if (log === undefined) continue; // the charges of a MemoryStore end with the process
      void one.process.expiring.stop();
      for (const held of list) if (held.timedBy === one) held.timedBy = undefined;
      running[at] = begin();
    } else {
      one.isStalled = does.does === 'stall';
      await runTimers();
    }
    await endOfTurn();
    const seen = store.consume([{ key: keyOf('rl', IDENTITY, policy.keyTail), algorithm, cost: 0 }]);
    verdicts.push(seen);
    const { remaining, resetAfter } = seen.charges[0]!;
    const wanted = model.seen(clock.now);
    const holds = isExact
      ? remaining === wanted.remaining
      : remaining <= wanted.remaining && resetAfter >= wanted.resetAfter;
    expectHolds(holds, () => ({ now: clock.now, does, seen, wanted }));
  }
  for (const { process: ended } of running) await ended.expiring.stop();
}

// Each log behaves as the shared one, and Redis as memory: test/conformance/reservation-log.clients.spec.ts and
// test/equivalence/settled-turns.clients.spec.ts. test/concurrency/expiring.long.spec.ts lets sweeps and settlements race.
describe.each([
  ['one process', 1],
  ['three processes, which stall and die', 3],
])('reservations that expire come to what a list of them says, in %s', (_, processes) => {
  it.each(ALL_ALGORITHMS.filter((name) => name !== 'concurrency'))(
    '%s',
    async (name) => {
      const property = fc.asyncProperty(historiesOf(name), (history) => play(history, processes));
      await assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});
