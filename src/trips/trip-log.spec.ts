import { beforeEach, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { TripLog } from './trip-log.js';
import type { Trip } from './trip.js';

const HERE = { lat: 0, lng: 0 };

let now: number;
let log: TripLog;

beforeEach(() => {
  now = 0;
  log = new TripLog(
    { now: () => now },
    new ConfigService<Configuration, true>(readConfiguration({ TRIPS_KEPT: '5', TRIPS_KEPT_PER_RIDER: '3' })),
  );
});

const trip = (id: string, riderId = 'r1', endsAt = 0): Trip => ({
  id,
  riderId,
  driverId: 'd1',
  pickup: HERE,
  dropoff: HERE,
  metres: 0,
  fare: { amount_cents: 800, currency: 'USD' },
  startsAt: 0,
  endsAt,
});
const ridden = (riderId = 'r1', limit = 10): string[] => log.ridden(riderId, limit).map(({ id }) => id);

it('returns trips, the latest first, up to the limit', () => {
  log.record(trip('a'));
  log.record(trip('b'));
  expect(ridden()).toEqual(['b', 'a']);
  expect(ridden('r1', 1)).toEqual(['b']);
  expect(ridden('r2')).toEqual([]);
});

it('returns a trip from the instant of its end', () => {
  log.record(trip('a', 'r1', 1000));
  now = 999;
  expect(ridden()).toEqual([]);
  now = 1000;
  expect(ridden()).toEqual(['a']);
});

it('keeps the last trips of a rider', () => {
  for (const id of ['a', 'b', 'c', 'd']) log.record(trip(id));
  expect(ridden()).toEqual(['d', 'c', 'b']);
});

it('keeps a limited number of trips, and forgets the riders with the oldest last trip', () => {
  for (const id of ['a', 'b']) log.record(trip(id, 'r1'));
  for (const id of ['c', 'd']) log.record(trip(id, 'r2'));
  log.record(trip('e', 'r1'));
  expect([ridden('r1'), ridden('r2')]).toEqual([
    ['e', 'b', 'a'],
    ['d', 'c'],
  ]);
  log.record(trip('f', 'r3'));
  expect([ridden('r2'), ridden('r1'), ridden('r3')]).toEqual([['d', 'c'], [], ['f']]);
});
