import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import type { ClaimedDriver } from './drivers/driver-index.js';
import { CENTER } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import { LocalMatchingService } from './local-matching.service.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const clock = { now: () => Date.now() };

function matchingWith(env: Record<string, string>): LocalMatchingService {
  return LocalMatchingService.create(new ConfigService<Configuration, true>(readConfiguration(env)), clock);
}

it('takes the configured time and finds the nearest driver', async () => {
  const matching = matchingWith({ DRIVERS_SEEDED: '3', MATCHING_SERVICE_MS: '100' });
  const match = matching.match(CENTER);
  await jest.advanceTimersByTimeAsync(99);
  expect(jest.getTimerCount()).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(await match).toMatchObject({ driverId: 'driver-0001', freeAt: Date.now() + 30_000 });
});

it('uses the surge factor of the request, not the one after the queue', async () => {
  const matching = matchingWith({ MATCHING_WORKERS: '1' });
  await matching.setSurgeFactor(zoneOf(CENTER), 2);
  const matches = [matching.match(CENTER), matching.match(CENTER)];
  await matching.setSurgeFactor(zoneOf(CENTER), 5);
  await jest.runAllTimersAsync();
  expect((await Promise.all(matches)).map((match) => match?.surgeFactor)).toEqual([2, 2]);
});

it('lets searches wait for a worker, too', async () => {
  const matching = matchingWith({ MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '100' });
  const done: string[] = [];
  void matching.match(CENTER).then(() => done.push('match'));
  void matching.nearby(CENTER, 1, 5).then((drivers) => done.push(`nearby ${drivers.length}`));
  void matching.surgeFactor(zoneOf(CENTER)).then((factor) => done.push(`surge ${factor}`));
  await jest.advanceTimersByTimeAsync(199);
  expect(done).toEqual(['match']);
  await jest.advanceTimersByTimeAsync(101);
  expect(done).toEqual(['match', 'nearby 5', 'surge 1']);
});

it('takes positions and surge factors without a wait for a worker', async () => {
  const matching = matchingWith({ MATCHING_WORKERS: '1', DRIVERS_SEEDED: '0' });
  void matching.match(CENTER);
  await matching.report([{ driverId: 'd1', ...CENTER }]);
  await matching.setSurgeFactor('z', 2);
  expect(await matching.zones()).toEqual([
    { zone: zoneOf(CENTER), free: 1, busy: 0, surgeFactor: 1 },
    { zone: 'z', free: 0, busy: 0, surgeFactor: 2 },
  ]);
});

it('returns undefined when no driver is within reach', async () => {
  const matching = matchingWith({ MATCHING_RADIUS_KM: '5' });
  const match = matching.match({ lat: 48.8566, lng: 2.3522 });
  await jest.runAllTimersAsync();
  expect(await match).toBeUndefined();
});

const ALONE = { DRIVERS_SEEDED: '1', MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '100' };

it('goes on for a rider who has left, by default', async () => {
  const matching = matchingWith(ALONE);
  const rider = new AbortController();
  const asked = [matching.match(CENTER, rider.signal), matching.match(CENTER, rider.signal)];
  rider.abort('gone');
  await jest.advanceTimersByTimeAsync(150);
  // The second one still has its place in the queue, and then a worker.
  expect((await matching.statistics()).busy).toBe(1);
  await jest.runAllTimersAsync();
  expect(await asked[0]).toMatchObject({ driverId: 'driver-0001' });
  expect(await asked[1]).toBeUndefined();
});

it('takes no driver for a rider who has left with MATCHING_CANCEL', async () => {
  const matching = matchingWith({ ...ALONE, MATCHING_CANCEL: 'on' });
  const rider = new AbortController();
  const match = matching.match(CENTER, rider.signal).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(50);
  rider.abort('gone');
  const next = matching.match(CENTER);
  await jest.runAllTimersAsync();
  expect(await match).toBe('gone');
  expect(await next).toMatchObject({ driverId: 'driver-0001' });
});

it('holds more requests than its limit admits, by default', async () => {
  const matching = matchingWith({});
  let matched = 0;
  for (let i = 0; i < 450; i++) void matching.match(CENTER).then(() => matched++);
  await jest.advanceTimersByTimeAsync(1000);
  expect(matched).toBe(150);
  expect(matched).toBeGreaterThan(readConfiguration({}).matchingLimit.perSecond);
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
        MATCHING_PATIENCE_MS: '600000',
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
