import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histories } from '../../../test/support/property-runs.js';
import { snapped } from '../../geo/position-tree.js';
import { LocalDriverIndex } from './local-driver-index.js';

const GARDEN = { lat: 40.7505, lng: -73.9934 };
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
});

describe('claims', () => {
  it('frees the driver at the instant that the claim names', async () => {
    index.station([north('a', 100)]);
    expect(await index.claimNearest(GARDEN, 5, TRIP_MS)).toMatchObject({ driverId: 'a', freeAt: now + TRIP_MS });
    now += TRIP_MS - 1;
    expect(await claim()).toBeUndefined();
    now += 1;
    expect(await claim()).toBe('a');
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
    histories(2),
  );
});

describe('memory', () => {
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
