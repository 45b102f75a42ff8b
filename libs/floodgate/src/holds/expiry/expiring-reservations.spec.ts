import { chargeOf } from '../../charges/policy-charge.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ReservingProcess } from '../../../../../test/support/reserving-process.js';
import { SharedLog } from '../../../../../test/support/shared-log.js';
import { boundPolicy } from '../../../../../test/support/told-thresholds.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { ReservationLog } from '../../stores/reservation-log.js';
import type { StoreTraits } from '../../stores/traits.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { VirtualStore } from '../../testing/virtual-store.js';
import { LimiterUnavailableError, ReservationsFullError } from '../../charges/errors.js';
import type { Reservation } from '../settlements/reservation.js';
import { type AtExpiry, readExpiry } from '../../policy/expiry.js';
import type { ExpiringReservations } from './expiring-reservations.js';

const DAY = boundPolicy({ name: 'day', algorithm: 'fixed-window', limit: 100_000, window: '1d' });

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
  { log, ...more }: { log?: ReservationLog; traits?: Partial<StoreTraits>; mostOpen?: number } = {},
): Pod {
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const { read } = store.virtualClock;
  const { expiring } = new ReservingProcess(store, log, read, { ...more, timer: store.timer, warn });
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
