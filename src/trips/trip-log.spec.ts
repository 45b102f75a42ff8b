import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { Database } from '../database/database.js';
import { TripLog } from './trip-log.js';
import type { Trip } from './trip.js';

const HERE = { lat: 0, lng: 0 };

let database: Database;
let log: TripLog;

beforeEach(async () => {
  database = await Database.open(undefined);
  log = new TripLog(
    { now: () => 0 },
    new ConfigService<Configuration, true>(readConfiguration({ TRIPS_KEPT: '5', TRIPS_KEPT_PER_RIDER: '3' })),
    database,
  );
});
afterEach(() => database.onApplicationShutdown());

const trip = (id: string, riderId: string): Trip => ({
  id,
  riderId,
  driverId: 'd1',
  pickup: HERE,
  dropoff: HERE,
  metres: 0,
  fare: { amount_cents: 800, currency: 'USD' },
  startsAt: 0,
  endsAt: 0,
});
const ridden = async (riderId: string): Promise<string[]> => (await log.ridden(riderId, 10)).map(({ id }) => id);

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
