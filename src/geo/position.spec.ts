import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { greatCircleDistance } from 'h3-js';
import { distanceKm, distanceMetres, travelSeconds } from './position.js';

const GARDEN = { lat: 40.7505, lng: -73.9934 };

it('measures along the great circle', () => {
  expect(distanceKm(GARDEN, GARDEN)).toBe(0);
  expect(distanceKm({ lat: 0, lng: 0 }, { lat: 0, lng: 180 })).toBeCloseTo(Math.PI * 6371.007, 1);
  expect(distanceMetres(GARDEN, { lat: 40.7484, lng: -73.9857 })).toBe(689);
});

it('travels at 24 km/h, in whole seconds', () => {
  expect(travelSeconds(0)).toBe(0);
  expect(travelSeconds(1)).toBe(1);
  expect(travelSeconds(24_000)).toBe(3600);
});

it('agrees with H3 everywhere on earth', () => {
  const position = fc.record({
    lat: fc.double({ min: -90, max: 90, noNaN: true }),
    lng: fc.double({ min: -180, max: 180, noNaN: true }),
  });
  fc.assert(
    fc.property(position, position, (from, to) => {
      expect(distanceKm(from, to)).toBeCloseTo(greatCircleDistance([from.lat, from.lng], [to.lat, to.lng], 'km'), 6);
    }),
  );
});
