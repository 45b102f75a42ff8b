import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { CENTER } from '../geo/position.js';
import { QuotesService } from '../fares/quotes.service.js';
import { zoneOf } from '../geo/zone.js';
import { Database } from '../database/database.js';
import { type Match, Matching, MatchingUnavailableError } from '../matching/matching.js';
import { TripLog } from '../trips/trip-log.js';
import { type ZoneCounts, ZoneTraffic } from '../zones/zone-traffic.js';
import { RidesService } from './rides.service.js';

const NOW = 1_000_000;
const ZONE = zoneOf(CENTER);
const ITINERARY = { pickup: CENTER, dropoff: { lat: 40.7484, lng: -73.9857 } };
const DRIVER: Match = {
  driverId: 'd1',
  ...CENTER,
  distanceKm: 0.1,
  claimedAt: NOW,
  freeAt: NOW + 30_000,
  surgeFactor: 1,
};

let database: Database;
let trips: TripLog;
let traffic: ZoneTraffic;
let now: number;

beforeEach(async () => {
  now = NOW;
  const clock = { now: () => now };
  database = await Database.open(undefined);
  traffic = new ZoneTraffic(clock, database);
  trips = new TripLog(clock, new ConfigService<Configuration, true>(readConfiguration({})), database);
});
afterEach(() => database.onApplicationShutdown());

const counts = async (): Promise<ZoneCounts | undefined> => (await traffic.counts()).get(ZONE);

function ridesMatchedBy(match: () => Promise<Match | undefined>): RidesService {
  const matching = { match } as Partial<Matching> as Matching;
  return new RidesService(matching, new QuotesService(matching), trips, traffic);
}

it('records a match as a trip, which is history after its end', async () => {
  const ride = await ridesMatchedBy(async () => DRIVER).request('r1', ITINERARY);
  expect(ride).toEqual({
    driver: DRIVER,
    trip: {
      id: expect.any(String),
      riderId: 'r1',
      driverId: 'd1',
      ...ITINERARY,
      metres: 689,
      fare: { amount_cents: 800, currency: 'USD' },
      startsAt: NOW,
      endsAt: NOW + 30_000,
    },
  });
  expect(await trips.ridden('r1', 10)).toEqual([]);
  now = NOW + 30_000;
  expect(await trips.ridden('r1', 10)).toEqual([ride?.trip]);
  expect(await counts()).toMatchObject({ requests: 1, matched: 1 });
});

it('uses the surge factor of the match', async () => {
  const ride = await ridesMatchedBy(async () => ({ ...DRIVER, surgeFactor: 2 })).request('r1', ITINERARY);
  expect(ride?.trip.fare.amount_cents).toBe(1600);
});

it('records no trip without a driver', async () => {
  expect(await ridesMatchedBy(async () => undefined).request('r1', ITINERARY)).toBeUndefined();
  now = Infinity;
  expect(await trips.ridden('r1', 10)).toEqual([]);
  expect(await counts()).toMatchObject({ requests: 1, matched: 0, no_driver: 1, unavailable: 0 });
});

it('counts requests that matching was too busy for', async () => {
  const busy = ridesMatchedBy(() => Promise.reject(new MatchingUnavailableError('queue full')));
  await expect(busy.request('r1', ITINERARY)).rejects.toThrow('matching is unavailable: queue full');
  expect(await counts()).toMatchObject({ requests: 1, matched: 0, no_driver: 0, unavailable: 1 });
});
