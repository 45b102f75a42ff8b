import { expect, it } from '@jest/globals';
import { distanceKm } from '../../geo/position.js';
import { CENTER } from '../../geo/position.js';
import { seededDrivers } from './seeded-drivers.js';

it('places distinct drivers within two kilometres of the garden, the same every time', () => {
  const drivers = seededDrivers(500);
  expect(drivers).toEqual(seededDrivers(500));
  expect(new Set(drivers.map(({ driverId }) => driverId)).size).toBe(500);
  expect(Math.max(...drivers.map((driver) => distanceKm(CENTER, driver)))).toBeLessThan(2.01);
  expect(seededDrivers(0)).toEqual([]);
});

it('spreads them evenly: a quarter of them in the inner half', () => {
  const inner = seededDrivers(400).filter((driver) => distanceKm(CENTER, driver) < 1);
  expect(inner).toHaveLength(100);
});
