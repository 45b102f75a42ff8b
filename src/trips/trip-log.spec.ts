import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { Database } from '../database/database.js';
import { TripLog } from './trip-log.js';
import type { Trip } from './trip.js';

const HERE = { lat: 0, lng: 0 };

let now: number;
let database: Database;
let log: TripLog;

beforeEach(async () => {
  now = 0;
  database = await Database.open(undefined);
  log = new TripLog(
    { now: () => now },
    new ConfigService<Configuration, true>(readConfiguration({ TRIPS_KEPT: '5', TRIPS_KEPT_PER_RIDER: '3' })),
    database,
  );
});
afterEach(() => database.onApplicationShutdown());

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
const ridden = async (riderId = 'r1', limit = 10): Promise<string[]> =>
  (await log.ridden(riderId, limit)).map(({ id }) => id);

it('returns trips, the latest first, up to the limit', async () => {
  log.record(trip('a'));
  log.record(trip('b'));
  expect(await ridden()).toEqual(['b', 'a']);
  expect(await ridden('r1', 1)).toEqual(['b']);
  expect(await ridden('r2')).toEqual([]);
});

it('returns a trip from the instant of its end', async () => {
  log.record(trip('a', 'r1', 1000));
  now = 999;
  expect(await ridden()).toEqual([]);
  now = 1000;
  expect(await ridden()).toEqual(['a']);
});

it('keeps the last trips of a rider', async () => {
  for (const id of ['a', 'b', 'c', 'd']) log.record(trip(id));
  expect(await ridden()).toEqual(['d', 'c', 'b']);
});

it('keeps a limited number of trips, and forgets the oldest', async () => {
  for (const id of ['a', 'b']) log.record(trip(id, 'r1'));
  for (const id of ['c', 'd']) log.record(trip(id, 'r2'));
  log.record(trip('e', 'r1'));
  expect([await ridden('r1'), await ridden('r2')]).toEqual([
    ['e', 'b', 'a'],
    ['d', 'c'],
  ]);
  log.record(trip('f', 'r3'));
  expect([await ridden('r1'), await ridden('r2'), await ridden('r3')]).toEqual([['e', 'b'], ['d', 'c'], ['f']]);
});
