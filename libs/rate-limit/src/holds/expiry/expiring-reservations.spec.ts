import { chargeOf } from '../../charges/policy-charge.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type LogOutcome, SharedLog } from '../../../../../test/support/shared-log.js';
import { partsAlone } from '../../limiter/parts-alone.js';
import { storeAlone } from '../../limiter/opened-store.js';
import { readLimiterOptions } from '../../limiter/options-table.js';
import { type BoundPolicy, bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import type { ReservationLog } from '../../stores/reservation-log.js';
import type { StoreTraits } from '../../stores/traits.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { VirtualStore } from '../../testing/virtual-store.js';
import { LimiterUnavailableError, ReservationsFullError } from '../../charges/errors.js';
import type { Reservation, Settlement } from '../settlements/reservation.js';
import { type AtExpiry, readExpiry } from '../../policy/expiry.js';
import { ExpiringReservations } from './expiring-reservations.js';

const SECOND = 1000;
const DAY: BoundPolicy = bound({ name: 'day', limit: 100_000, window: '1d' });

function bound(policy: object): BoundPolicy {
  return bindPolicy(parsePolicy({ algorithm: 'fixed-window', ...policy }, 'test'), 'rl', 'app', 'test');
}

const opened: ExpiringReservations[] = [];
afterEach(async () => {
  for (const expiring of opened.splice(0)) await expiring.stop();
});

interface Pod {
  readonly expiring: ExpiringReservations;
  readonly warnings: string[];
  readonly reserve: (
    options: { cost?: number; expires?: number | string; atExpiry?: AtExpiry },
    policies?: readonly BoundPolicy[],
  ) => Promise<Reservation>;
}

/** A pod on a store. */
function podOn(
  store: VirtualStore,
  {
    log,
    traits,
    sweepMs = 1e9,
    deadlineMs = 60 * SECOND,
    mostOpen,
  }: {
    log?: ReservationLog;
    traits?: Partial<StoreTraits>;
    sweepMs?: number;
    deadlineMs?: number;
    mostOpen?: number;
  } = {},
): Pod {
  const warnings: string[] = [];
  const logger = { log: () => undefined, warn: (text: string) => void warnings.push(text), error: () => undefined };
  const { engine, layered } = partsAlone(readLimiterOptions({}, 'test'), storeAlone(store, deadlineMs), logger);
  const { virtualClock } = store;
  const expiring = new ExpiringReservations(
    {
      decide: (charges) => engine.decide(charges),
      settle: (settlements) => layered.settle(settlements),
      within: (answer) => layered.deadlines.within(answer),
      traits: { ...layered.traits, ...traits },
      log,
      timer: store.timer,
      nowMs: () => virtualClock.nowMs,
      sweepMs,
      mostOpen,
    },
    logger,
  );
  opened.push(expiring);
  return {
    expiring,
    warnings,
    reserve: async ({ cost = 10, ...options }, policies = [DAY]) =>
      expiring.reserveUntil(
        readExpiry({ expires: '60s', ...options }, 'test')!,
        policies.map((policy) => chargeOf(policy, 'user:ada', cost, 'reserve')),
      ),
  };
}

function usedOf(store: VirtualStore, { algorithm, keyTail }: BoundPolicy = DAY): number {
  const verdict = store.consume([{ key: `rl:{user:ada}${keyTail}`, algorithm, cost: 0 }]);
  return algorithm.limit - verdict.charges[0]!.remaining;
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
};
describe('in a fleet', () => {
  function fleet(pods: number, step?: ConstructorParameters<typeof SharedLog>[1]) {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const log = new SharedLog(() => clock.nowMicroseconds, step);
    return {
      clock,
      store,
      log,
      pods: Array.from({ length: pods }, () => podOn(store, { log, traits: { isLocal: false } })),
    };
  }

  it('a log that does not answer leaves the charge, and says so', async () => {
    const { store, pods } = fleet(1, async (what) => (what === 'claim' ? 'lost' : 'well'));
    const reservation = await pods[0]!.reserve({ atExpiry: 'cancel' });
    const settlement = await reservation.settle(3);
    expect(settlement).toMatchObject({ settledBy: 'none', error: { name: 'RateLimitStoreError' } });
    expect(usedOf(store)).toBe(10);
    const unknown = fleet(1, async (what) => (what === 'add' ? 'lost' : 'well'));
    const other = await unknown.pods[0]!.reserve({ atExpiry: 'cancel' });
    const more = await unknown.pods[0]!.reserve({ atExpiry: 'cancel' });
    expect(await other.settle(3)).toMatchObject({ policies: [{ refunded: 0 }], error: expect.any(Error) });
    expect(await more.settle(12)).toMatchObject({ policies: [{ charged: 2 }], error: expect.any(Error) });
    expect(usedOf(unknown.store)).toBe(22);
    await turns();
    expect(unknown.pods[0]!.warnings).toContainEqual(
      expect.stringMatching(/^A reservation stays charged if this process dies: lost/),
    );
  });

  // Settlements, expiries and the sweeps of 4 pods, in any order, with calls that are lost: what stays charged is what was answered.
  it('nothing is refunded twice, whatever the order', async () => {
    const BASE = 1_000;
    const COST = 10;
    const reservation = fc.record({
      atExpiry: fc.constantFrom<AtExpiry>('cancel', 3, 9, 'keep'),
      final: fc.option(fc.integer({ min: 0, max: 14 }), { nil: undefined }),
      settleAt: fc.constantFrom('before', 'at once', 'after'),
    });
    const outcomes = fc.constantFrom<LogOutcome>('well', 'well', 'well', 'well', 'lost', 'answer lost');
    await fc.assert(
      fc.asyncProperty(
        fc.array(reservation, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(outcomes),
        fc.boolean(),
        fc.scheduler(),
        async (reservations, faults, hasFaults, scheduler) => {
          const step = async (what: string): Promise<LogOutcome> => {
            await scheduler.schedule(Promise.resolve(), what);
            return hasFaults ? (faults.next().value as LogOutcome) : 'well';
          };
          const { clock, store, pods } = fleet(5, step);
          store.consume([{ key: `rl:{user:ada}${DAY.keyTail}`, algorithm: DAY.algorithm, cost: BASE }]);
          const [owner, ...sweepers] = pods;
          const open: ((typeof reservations)[number] & { readonly made: Reservation })[] = [];
          for (const one of reservations) {
            open.push({ ...one, made: await owner!.reserve({ atExpiry: one.atExpiry, cost: COST }) });
          }
          const answers = new Map<Reservation, Promise<Settlement>>();
          const settle = (when: string): void => {
            for (const { settleAt, final, made } of open) {
              if (settleAt === when && final !== undefined) answers.set(made, made.settle(final));
            }
          };
          settle('before');
          clock.advance('59s');
          settle('at once');
          clock.advance('1s');
          const sweeps = sweepers.map(async ({ expiring }) => {
            await scheduler.schedule(Promise.resolve(), 'sweep');
            // The first reservation starts the sweep; one that has to be rejected leaves nothing.
            await expiring['sweep']!.sweep().catch(() => undefined);
          });
          settle('after');
          await scheduler.waitFor(Promise.all([...sweeps, ...answers.values()]));
          await scheduler.waitIdle();
          await turns();
          await scheduler.waitIdle();

          let [least, exact] = [BASE, BASE];
          for (const { atExpiry, final, made } of open) {
            const atEnd = atExpiry === 'keep' ? COST : atExpiry === 'cancel' ? 0 : atExpiry;
            const answer = await answers.get(made);
            if (answer === undefined) {
              exact += atEnd;
              least += atEnd;
            } else if (answer.expired === true) {
              exact += Math.max(atEnd, final!);
              least += Math.max(atEnd, final!);
            } else {
              exact += final!;
              least += answer.error === undefined ? final! : Math.min(atEnd, final!);
            }
          }
          const used = usedOf(store);
          expect(used).toBeGreaterThanOrEqual(least);
          expect(used).toBe(hasFaults ? used : exact);
          for (const { expiring } of pods) await expiring.stop();
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('more open reservations than a process keeps', () => {
  const full = async (options: Parameters<typeof podOn>[1] = {}) => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const pod = podOn(store, { mostOpen: 3, ...options });
    const first = await pod.reserve({ atExpiry: 'cancel', expires: '40s' });
    for (let i = 0; i < 2; i++) await pod.reserve({ atExpiry: 'cancel' });
    return { clock, store, first, ...pod };
  };

  it('are rejected before they are charged, where this process alone settles them', async () => {
    const { clock, store, reserve, expiring } = await full();
    clock.advance('10s');
    const error = await reserve({ atExpiry: 'cancel' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ReservationsFullError);
    expect(error).toBeInstanceOf(LimiterUnavailableError);
    expect(error).toMatchObject({ code: 'FG_RESERVATIONS_FULL', retryAfterMs: 30_000 });
    expect((error as Error).message).toContain(
      '3 reservations that expire are open in this process, and nothing else can settle them',
    );
    expect(usedOf(store)).toBe(30);
    expect(expiring.stats().reservations).toEqual({ open: 3, rejected: 1, untimed: 0 });
    clock.advance('50s');
    expect(usedOf(store)).toBe(0);
    expect(await reserve({ atExpiry: 'cancel' })).toMatchObject({ allowed: true });
    expect(expiring.stats().reservations).toEqual({ open: 1, rejected: 1, untimed: 0 });
  });

  it('stay charged where the log cannot take them, which is said and counted', async () => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const algorithm = Object.assign(Object.create(DAY.algorithm) as typeof DAY.algorithm, { name: 'of-my-own' });
    const log = new SharedLog(() => clock.nowMicroseconds);
    const { reserve, expiring, warnings } = podOn(store, { log, mostOpen: 1 });
    for (let i = 0; i < 3; i++) await reserve({ atExpiry: 'cancel' }, [{ ...DAY, algorithm }]);
    clock.advance('61s');
    expect(usedOf(store)).toBe(20);
    expect(expiring.stats().reservations).toEqual({ open: 0, rejected: 0, untimed: 2 });
    expect(warnings.filter((text) => text.includes('stays charged when it expires: 1 reservations'))).toHaveLength(1);
  });
});
