import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type LogOutcome, SharedLog } from '../../../../../../test/support/shared-log.js';
import { Monitor } from '../../../metrics/monitor.js';
import { type BoundPolicy, bindPolicy } from '../../../policy/bound-policy.js';
import { parsePolicy } from '../../../policy/parse-policy.js';
import { Deadlines } from '../../../stores/deadlines.js';
import type { ReservationLog } from '../../../stores/reservation-log.js';
import type { StoreTraits } from '../../../stores/traits.js';
import { VirtualClock } from '../../../testing/virtual-clock.js';
import { VirtualStore } from '../../../testing/virtual-store.js';
import { Engine } from '../../engine.js';
import { LimiterUnavailableError, ReservationsFullError } from '../../errors.js';
import { Fallback } from '../../fallback.js';
import { LayeredStore } from '../../layered-store.js';
import type { Reservation, Settlement } from '../reservation.js';
import { type AtExpiry, readExpiry } from '../../../policy/expiry.js';
import { ExpiringReservations } from './expiring-reservations.js';

const SECOND = 1000;
const DAY: BoundPolicy = bound({ name: 'day', limit: 100_000, window: '1d' });
const MINUTE: BoundPolicy = bound({ name: 'minute', limit: 10_000, window: '60s' });

function bound(policy: object): BoundPolicy {
  return bindPolicy(parsePolicy({ algorithm: 'fixed-window', ...policy }, 'test'), 'rl', 'app', 'test');
}

const opened: ExpiringReservations[] = [];
afterEach(() => {
  for (const expiring of opened.splice(0)) expiring.stop();
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
  const deadlines = new Deadlines(deadlineMs);
  const layered = new LayeredStore({ store, deadlines }, logger);
  const fallback = new Fallback({ onStoreFailure: 'local', localShare: 1, fallbackMaxBytes: 1e6 }, logger);
  const engine = new Engine('rl', layered, fallback, new Monitor({}, logger));
  const { virtualClock } = store;
  const expiring = new ExpiringReservations(
    {
      decide: (charges) => engine.decide(charges),
      settle: (settlements) => layered.settle(settlements),
      within: (answer) => deadlines.within(answer),
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
      expiring.reserve(
        policies.map((policy) => engine.charge(policy, 'user:ada', cost, 'reserve')),
        readExpiry({ expires: '60s', ...options }, 'test')!,
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
const policy = (more: object = {}) => ({
  policy: 'day',
  settledBy: 'store',
  refunded: 0,
  charged: 0,
  beyondOverdraft: 0,
  ...more,
});

describe('in the living process', () => {
  it.each<[AtExpiry | undefined, number]>([
    [undefined, 10],
    ['keep', 10],
    ['cancel', 0],
    [4, 4],
    [0, 0],
    [10, 10],
  ])('a reservation is settled at its expiry, and not before: atExpiry %s', async (atExpiry, left) => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const { reserve, expiring } = podOn(store);
    await reserve({ ...(atExpiry !== undefined && { atExpiry }) });
    clock.advanceMicroseconds(59_999_999);
    expect(usedOf(store)).toBe(10);
    clock.advanceMicroseconds(1);
    expect(usedOf(store)).toBe(left);
    expect(expiring.queue.size).toBe(0);
    clock.advance('1h');
    expect(usedOf(store)).toBe(left);
  });

  it('a settlement in time is as without an expiry, which does nothing then', async () => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const { reserve, expiring } = podOn(store);
    const [one, two, three] = [await reserve({ atExpiry: 4 }), await reserve({ atExpiry: 4 }), await reserve({})];
    expect(await one.settle(7)).toEqual({ settledBy: 'store', policies: [policy({ refunded: 3 })] });
    expect(await two.cancel()).toEqual({ settledBy: 'store', policies: [policy({ refunded: 10 })] });
    expect(await three.settle(12)).toEqual({ settledBy: 'store', policies: [policy({ charged: 2 })] });
    expect(expiring.queue.size).toBe(0);
    clock.advance('2m');
    expect(usedOf(store)).toBe(19);
  });

  it.each<[AtExpiry, number, number, number]>([
    ['keep', 3, 0, 10],
    ['keep', 12, 2, 12],
    ['cancel', 7, 7, 7],
    ['cancel', 0, 0, 0],
    [4, 3, 0, 4],
    [4, 150, 146, 150],
  ])('late: atExpiry %s, settle(%d) charges %d more and refunds nothing', async (atExpiry, final, charged, left) => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const { reserve } = podOn(store);
    const reservation = await reserve({ atExpiry });
    clock.advance('61s');
    expect(await reservation.settle(final)).toEqual({
      settledBy: 'store',
      policies: [policy({ charged })],
      expired: true,
    });
    expect(usedOf(store)).toBe(left);
    await expect(reservation.settle(1)).rejects.toThrow('the reservation was settled before');
    await expect(reservation.cancel()).rejects.toThrow('the reservation was settled before');
    expect(usedOf(store)).toBe(left);
  });

  it('a late cancel refunds nothing', async () => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const reservation = await podOn(store).reserve({ atExpiry: 6 });
    clock.advance('60s');
    expect(await reservation.cancel()).toMatchObject({ expired: true, policies: [{ refunded: 0, charged: 0 }] });
    expect(usedOf(store)).toBe(6);
  });

  it('a rejection expires never, and has nothing to settle', async () => {
    const clock = new VirtualClock();
    const { reserve, expiring } = podOn(new VirtualStore(clock));
    const reservation = await reserve({ cost: 100_001, atExpiry: 'cancel' });
    expect([reservation.allowed, expiring.queue.size]).toEqual([false, 0]);
    await expect(reservation.cancel()).rejects.toThrow('was rejected');
  });

  it('several policies expire together, each at the final cost', async () => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    const { reserve } = podOn(store);
    await reserve({ atExpiry: 4, expires: '30s' }, [DAY, MINUTE]);
    expect([usedOf(store), usedOf(store, MINUTE)]).toEqual([10, 10]);
    clock.advance('30s');
    expect([usedOf(store), usedOf(store, MINUTE)]).toEqual([4, 4]);
  });

  it('a store without a log warns once, a MemoryStore does not, and nothing is said where the cost is kept', async () => {
    const clock = new VirtualClock();
    const [memory, foreign] = [
      podOn(new VirtualStore(clock)),
      podOn(new VirtualStore(clock), { traits: { isLocal: false } }),
    ];
    await foreign.reserve({});
    await memory.reserve({ atExpiry: 'cancel' });
    expect([...memory.warnings, ...foreign.warnings]).toEqual([]);
    for (let i = 0; i < 3; i++) await foreign.reserve({ atExpiry: 'cancel' });
    expect(foreign.warnings).toEqual([
      expect.stringMatching(
        /^Reservations expire only while their process runs, .*use RedisStore \(see .*#fg_reservation_log\)$/,
      ),
    ]);
  });
});

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

  it('a reservation is in the log only where another process would refund something', async () => {
    const { log, pods } = fleet(1);
    const [pod] = pods;
    await pod!.reserve({});
    await pod!.reserve({ atExpiry: 10 });
    await pod!.reserve({ atExpiry: 'cancel' }, [MINUTE]); // the window is over before
    await pod!.reserve({ cost: 0, atExpiry: 'cancel' });
    await pod!.reserve({ cost: 100_001, atExpiry: 'cancel' });
    expect(log.added).toBe(0);
    await pod!.reserve({ atExpiry: 9 }, [MINUTE, DAY]);
    expect([...log.entries.values()].map(({ settlements }) => settlements.map(({ finalCost }) => finalCost))).toEqual([
      [9],
    ]);
  });

  it('a settlement takes the reservation out of the log', async () => {
    const { clock, store, log, pods } = fleet(1);
    const reservation = await pods[0]!.reserve({ atExpiry: 'cancel' });
    expect(await reservation.settle(10)).toEqual({ settledBy: 'store', policies: [policy()] });
    expect(log.entries.size).toBe(0);
    clock.advance('2m');
    expect(usedOf(store)).toBe(10);
  });

  it('another pod sweeps at its first reservation, even if that is rejected', async () => {
    const { clock, store, pods } = fleet(2);
    const [dead, other] = pods;
    await dead!.reserve({ cost: 100_000, atExpiry: 'cancel' });
    dead!.expiring.stop();
    clock.advance('60s');
    await turns();
    expect(usedOf(store)).toBe(100_000);
    expect((await other!.reserve({})).allowed).toBe(false); // it keeps its cost, so it needs no log
    await turns();
    expect(usedOf(store)).toBe(100_000);
    expect((await other!.reserve({ atExpiry: 'cancel' })).allowed).toBe(false);
    await turns();
    expect(usedOf(store)).toBe(0);
  });

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

  it('a settlement keeps the deadline where the log does not, and is made later', async () => {
    const clock = new VirtualClock();
    const store = new VirtualStore(clock);
    let answer: (outcome: 'well') => void;
    const hanging = new Promise<'well'>((resolve) => {
      answer = resolve;
    });
    const log = new SharedLog(
      () => clock.nowMicroseconds,
      (what) => (what === 'claim' ? hanging : Promise.resolve('well')),
    );
    const { reserve } = podOn(store, { log, deadlineMs: 20 });
    const [one, two] = [await reserve({ atExpiry: 'cancel' }), await reserve({ atExpiry: 'cancel' })];
    expect(await one.settle(3)).toMatchObject({
      settledBy: 'none',
      error: { message: 'the store gave no answer within 20 ms' },
    });
    clock.advance('61s');
    expect(await two.settle(4)).toMatchObject({ settledBy: 'none', error: expect.any(Error) });
    expect(usedOf(store)).toBe(20);
    answer!('well');
    await turns();
    expect(usedOf(store)).toBe(7);
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
          for (const { expiring } of pods) expiring.stop();
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

  it('have room again when one is settled', async () => {
    const { store, reserve, first } = await full();
    await first.settle(4);
    expect(await reserve({ atExpiry: 'cancel' })).toMatchObject({ allowed: true });
    await expect(reserve({ atExpiry: 2 })).rejects.toThrow(ReservationsFullError);
    expect(usedOf(store)).toBe(34);
  });

  it('pass where nothing is refunded at the expiry: none of them needs a timer', async () => {
    const { clock, store, reserve, expiring } = await full();
    const kept = await reserve({ atExpiry: 'keep' });
    expect(kept.allowed).toBe(true);
    clock.advance('2m');
    expect(await kept.settle(12)).toMatchObject({ expired: true });
    expect(usedOf(store)).toBe(12);
    expect(expiring.stats().reservations).toEqual({ open: 0, rejected: 0, untimed: 0 });
  });

  it('pass where they are in a log: a sweep settles them, of this process or of another one', async () => {
    const clock = new VirtualClock();
    const log = new SharedLog(() => clock.nowMicroseconds);
    const store = new VirtualStore(clock);
    const { reserve, expiring, warnings } = podOn(store, { log, mostOpen: 1 });
    for (let i = 0; i < 3; i++) await reserve({ atExpiry: 'cancel' });
    await turns();
    clock.advance('61s');
    await turns();
    expect(usedOf(store)).toBe(20);
    await expiring['sweep']!.sweep();
    expect(usedOf(store)).toBe(0);
    expect(expiring.stats().reservations).toEqual({ open: 0, rejected: 0, untimed: 0 });
    expect(warnings).toEqual([]);
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
