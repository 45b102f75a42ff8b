import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { snapped } from '../../geo/position-tree.js';
import { zoneOf } from '../../geo/zone.js';
import { LocalDriverIndex } from './local-driver-index.js';

const GARDEN = { lat: 40.7505, lng: -73.9934 };
const AIRPORT = { lat: 40.6413, lng: -73.7781 };
const TIMEOUT_MS = 60_000;
const TRIP_MS = 600_000;

let now: number;
let index: LocalDriverIndex;

beforeEach(() => {
  now = 1_000_000;
  index = new LocalDriverIndex({ now: () => now }, { max: 3, timeoutMs: TIMEOUT_MS });
});

const north = (driverId: string, metres: number): { driverId: string; lat: number; lng: number } => ({
  driverId,
  ...snapped({ lat: GARDEN.lat + metres / 111_195, lng: GARDEN.lng }),
});
const claim = async (leaseMs = TRIP_MS): Promise<string | undefined> =>
  (await index.claimNearest(GARDEN, 5, leaseMs))?.driverId;
const shown = async (): Promise<string[]> => (await index.nearby(GARDEN, 5, 10)).map(({ driverId }) => driverId);

describe('positions', () => {
  it('finds free drivers within the radius, nearest first, up to the limit', async () => {
    await index.report([north('c', 300), north('a', 100), north('b', 200)]);
    expect(await index.nearby(GARDEN, 0.25, 10)).toEqual([
      { ...north('a', 100), distanceKm: expect.closeTo(0.1, 4) },
      { ...north('b', 200), distanceKm: expect.closeTo(0.2, 4) },
    ]);
    expect(await index.nearby(GARDEN, 5, 1)).toHaveLength(1);
    expect(await index.nearby(AIRPORT, 5, 10)).toEqual([]);
  });

  it('takes the last position of a driver, within a batch and after it', async () => {
    await index.report([north('a', 100), { driverId: 'a', ...AIRPORT }]);
    expect(await shown()).toEqual([]);
    await index.report([north('a', 50)]);
    expect(await index.nearby(AIRPORT, 5, 10)).toEqual([]);
    expect(await shown()).toEqual(['a']);
  });

  it('offers a driver until the timeout, and again after a new report', async () => {
    await index.report([north('a', 100)]);
    now += TIMEOUT_MS - 1;
    expect(await shown()).toEqual(['a']);
    now += 1;
    expect(await shown()).toEqual([]);
    expect(await claim()).toBeUndefined();
    await index.report([north('a', 100)]);
    expect(await shown()).toEqual(['a']);
  });

  it('never forgets a stationed driver who has not reported', async () => {
    index.station([north('s', 10)]);
    now += 100 * TIMEOUT_MS;
    await index.report([north('a', 100), north('b', 100), north('c', 100), north('d', 100)]);
    expect(await shown()).toContain('s');
  });
});

describe('claims', () => {
  it('gives each free driver to one rider, the nearest first, until none is left', async () => {
    await index.report([north('far', 300), north('near', 100)]);
    expect(await Promise.all([claim(), claim(), claim()])).toEqual(['near', 'far', undefined]);
    expect(await shown()).toEqual([]);
  });

  it('does not reach beyond the radius', async () => {
    await index.report([north('a', 1001)]);
    expect(await index.claimNearest(GARDEN, 1, TRIP_MS)).toBeUndefined();
  });

  it('frees the driver at the instant that the claim names', async () => {
    index.station([north('a', 100)]);
    expect(await index.claimNearest(GARDEN, 5, TRIP_MS)).toMatchObject({ driverId: 'a', freeAt: now + TRIP_MS });
    now += TRIP_MS - 1;
    expect(await claim()).toBeUndefined();
    now += 1;
    expect(await claim()).toBe('a');
  });

  it('keeps a driver who moves during a trip on the trip', async () => {
    await index.report([north('a', 100)]);
    await claim();
    await index.report([north('a', 0)]);
    expect(await claim()).toBeUndefined();
  });

  it('keeps a driver who is silent during a trip on the trip', async () => {
    await index.report([north('a', 100)]);
    await claim();
    now += 2 * TIMEOUT_MS;
    await index.report([north('b', 4000)]);
    await index.report([north('a', 100)]);
    expect(await claim()).toBe('b');
    expect(await claim()).toBeUndefined();
  });
});

it('never gives a driver to two riders at the same time, despite reports and silences', async () => {
  const step = fc.record({
    afterMs: fc.nat(2 * TIMEOUT_MS),
    reports: fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c'), metres: fc.nat(3000) }), { maxLength: 5 }),
    leases: fc.array(fc.integer({ min: 1, max: 3 * TIMEOUT_MS }), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      index = new LocalDriverIndex({ now: () => now }, { max: 3, timeoutMs: TIMEOUT_MS });
      const freeAt = new Map<string, number>();
      for (const { afterMs, reports, leases } of steps) {
        now += afterMs;
        const claims = leases.map((leaseMs) => index.claimNearest(GARDEN, 5, leaseMs));
        await index.report(reports.map(({ id, metres }) => north(id, metres)));
        for (const driver of await Promise.all([...claims, index.claimNearest(GARDEN, 5, 1000)])) {
          if (!driver) continue;
          expect(freeAt.get(driver.driverId) ?? 0).toBeLessThanOrEqual(now);
          freeAt.set(driver.driverId, driver.freeAt);
        }
      }
    }),
    { numRuns: 500 },
  );
});

describe('memory', () => {
  it('forgets the longest silent drivers beyond the limit', async () => {
    await index.report(['a', 'b', 'c'].map((id) => north(id, 100)));
    await index.report([north('a', 100)]);
    await index.report([north('d', 100)]);
    expect((await shown()).toSorted()).toEqual(['a', 'c', 'd']);
  });

  it('forgets drivers on a trip last, but stays within its limit', async () => {
    await index.report([north('a', 100), north('b', 200), north('c', 300)]);
    expect([await claim(), await claim()]).toEqual(['a', 'b']);
    await index.report([north('d', 400)]);
    expect(await shown()).toEqual(['d']);
    expect(await claim()).toBe('d');
    await index.report([north('e', 500)]);
    expect(await shown()).toEqual([]);
  });
});

it('counts free and busy drivers by zone, without silent ones', async () => {
  await index.report([north('silent', 1)]);
  now += TIMEOUT_MS;
  index.station([north('a', 1), north('b', 2), { driverId: 'c', ...AIRPORT }]);
  await claim();
  expect(await index.countsByZone()).toEqual(
    new Map([
      [zoneOf(GARDEN), { free: 1, busy: 1 }],
      [zoneOf(AIRPORT), { free: 1, busy: 0 }],
    ]),
  );
});

describe('the work of a request', () => {
  const COUNT = 100_000;

  beforeEach(async () => {
    index = new LocalDriverIndex({ now: () => now }, { max: COUNT, timeoutMs: TIMEOUT_MS });
    await index.report(Array.from({ length: COUNT }, (_, i) => north(`d${i}`, 0)));
  });

  it('is the same with 100,000 free or busy drivers at one spot', async () => {
    const before = index.looks;
    expect(await index.nearby(GARDEN, 5, 50)).toHaveLength(50);
    for (let i = 0; i < 1000; i++) expect(await claim()).toBeDefined();
    expect(await index.nearby(GARDEN, 5, 50)).toHaveLength(50);
    expect((index.looks - before) / 1002).toBeLessThan(200);
    expect(await index.countsByZone()).toEqual(new Map([[zoneOf(GARDEN), { free: COUNT - 1000, busy: 1000 }]]));
  });

  it('is the same when no driver is free', async () => {
    for (let i = 0; i < COUNT; i++) await index.claimNearest(GARDEN, 5, TRIP_MS);
    await index.report([north('far', 4000)]);
    const before = index.looks;
    expect(await claim()).toBeUndefined(); // one too many: the one that is on no trip was forgotten
    expect(index.looks - before).toBeLessThan(200);
    now += TRIP_MS;
    await index.report([north('far', 4000)]);
    expect(await shown()).toEqual(['far']); // all the others have been silent for longer than the timeout
  });
});
