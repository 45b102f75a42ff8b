import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CENTER as CENTER_OF_DRIVERS } from '../../src/geo/position.js';
import { isId } from '../../src/http/validation.js';
import { CENTER, Rider, type RiderRequest } from './rider.js';

it('places riders around the center of the drivers', () => {
  expect(CENTER).toEqual(CENTER_OF_DRIVERS);
});

const requests = (rider: Rider, count: number): RiderRequest[] => Array.from({ length: count }, () => rider.next());

it('requests rides, fares and nearby drivers as 5 : 2 : 1, for any seed', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const counts = { rides: 0, fares: 0, nearby: 0 };
      for (let index = 0; index < 200; index++) {
        for (const { route } of requests(new Rider(seed, index), 40)) counts[route]++;
      }
      // 8,000 draws: five standard deviations are 0.028 of them at most.
      expect(Math.abs(counts.rides / 8000 - 5 / 8)).toBeLessThan(0.028);
      expect(Math.abs(counts.fares / 8000 - 2 / 8)).toBeLessThan(0.028);
      expect(Math.abs(counts.nearby / 8000 - 1 / 8)).toBeLessThan(0.028);
    }),
    { numRuns: 5 },
  );
});

it('stands within 0.01 degree of the garden, pauses 0.1 to 0.3 s, and has a name that the application accepts', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(100_000), (seed, index) => {
      const rider = new Rider(seed, index);
      expect(isId(rider.id)).toBe(true);
      for (const { pickup, dropoff, riderId } of requests(rider, 10)) {
        expect(Math.abs(pickup.lat - CENTER.lat)).toBeLessThanOrEqual(0.01);
        expect(Math.abs(pickup.lng - CENTER.lng)).toBeLessThanOrEqual(0.01);
        expect(dropoff).not.toEqual(pickup);
        expect(riderId).toBe(rider.id);
        const pause = rider.pauseMs();
        expect(pause).toBeGreaterThanOrEqual(100);
        expect(pause).toBeLessThan(300);
      }
    }),
    { numRuns: 20 },
  );
});

it('repeats a request soon after an error, and after a 429 when Retry-After says', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(10_000), fc.integer({ min: 1, max: 100_000 }), (seed, index, retryAfterMs) => {
      const [rider, same] = [new Rider(seed, index), new Rider(seed, index)];
      const soon = rider.retryMs(undefined);
      expect(soon).toBeGreaterThanOrEqual(500);
      expect(soon).toBeLessThan(1500);
      const later = rider.retryMs(retryAfterMs) - 1000 * Math.ceil(retryAfterMs / 1000);
      expect(later).toBeGreaterThanOrEqual(100);
      expect(later).toBeLessThan(300);
      // What a rider wants does not depend on the answers.
      expect(rider.visit()).toEqual(same.visit());
    }),
  );
});
