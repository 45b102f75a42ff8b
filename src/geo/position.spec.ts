import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { greatCircleDistance } from 'h3-js';
import { distanceKm } from './position.js';

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
