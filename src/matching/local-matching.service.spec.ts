import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { readConfiguration } from '../config/read-configuration.js';
import type { ClaimedDriver } from '../drivers/driver-index.js';
import { LocalDriverIndex } from '../drivers/local-driver-index.js';
import { CENTER, seededDrivers } from '../drivers/seeded-drivers.js';
import { LocalMatchingService } from './local-matching.service.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const clock = { now: () => Date.now() };

function matchingWith(env: Record<string, string>): LocalMatchingService {
  const configuration = readConfiguration(env);
  const index = new LocalDriverIndex(clock, configuration.drivers);
  index.station(seededDrivers(configuration.drivers.seeded));
  return new LocalMatchingService(configuration, index);
}

it('takes the configured time and finds the nearest driver', async () => {
  const matching = matchingWith({ DRIVERS_SEEDED: '3', MATCHING_SERVICE_MS: '100' });
  const match = matching.match(CENTER);
  await jest.advanceTimersByTimeAsync(99);
  expect(jest.getTimerCount()).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(await match).toMatchObject({ driverId: 'driver-0001', freeAt: Date.now() + 30_000 });
});

it('says so when no driver is within reach', async () => {
  const matching = matchingWith({ MATCHING_RADIUS_KM: '5' });
  const match = matching.match({ lat: 48.8566, lng: 2.3522 });
  await jest.runAllTimersAsync();
  expect(await match).toBeUndefined();
});

it('matches 150 requests per second as it comes out of the box', async () => {
  const matching = matchingWith({});
  let matched = 0;
  for (let i = 0; i < 450; i++) void matching.match(CENTER).then(() => matched++);
  await jest.advanceTimersByTimeAsync(1000);
  expect(matched).toBe(150);
  await jest.advanceTimersByTimeAsync(2000);
  expect(matched).toBe(450);
});

it('never gives a driver to two riders at the same time', async () => {
  const riders = fc.array(
    fc.record({
      afterMs: fc.nat(300),
      lat: fc.double({ min: 40.74, max: 40.76, noNaN: true }),
      lng: fc.double({ min: -74, max: -73.98, noNaN: true }),
    }),
    { minLength: 1, maxLength: 80 },
  );
  const sizes = fc.record({
    drivers: fc.nat(8),
    workers: fc.integer({ min: 1, max: 8 }),
    tripMs: fc.integer({ min: 1, max: 2000 }),
  });
  await fc.assert(
    fc.asyncProperty(riders, sizes, async (requests, { drivers, workers, tripMs }) => {
      const matching = matchingWith({
        DRIVERS_SEEDED: String(drivers),
        MATCHING_WORKERS: String(workers),
        TRIP_SECONDS: String(tripMs / 1000),
      });
      const busyUntil = new Map<string, number>();
      const check = (driver: ClaimedDriver | undefined): void => {
        const busy = [...busyUntil].filter(([, freeAt]) => freeAt > Date.now()).map(([id]) => id);
        expect(busy).not.toContain(driver?.driverId);
        // Nobody is turned away while a driver within reach is free.
        expect(driver !== undefined || busy.length === drivers).toBe(true);
        if (driver) busyUntil.set(driver.driverId, driver.freeAt);
      };
      const checks: Promise<void>[] = [];
      for (const { afterMs, ...pickup } of requests) {
        await jest.advanceTimersByTimeAsync(afterMs % 3 === 0 ? 0 : afterMs);
        checks.push(matching.match(pickup).then(check));
      }
      await jest.runAllTimersAsync();
      await Promise.all(checks);
    }),
    { numRuns: 200 },
  );
});
