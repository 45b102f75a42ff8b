import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import { RiderAccounts } from '../../src/accounts/rider-accounts.js';
import type { Configuration } from '../../src/config/configuration.js';
import { readConfiguration } from '../../src/config/read-configuration.js';
import { Database } from '../../src/database/database.js';
import type { Trip } from '../../src/trips/trip.js';
import { TripLog } from '../../src/trips/trip-log.js';
import { ZoneTraffic } from '../../src/zones/zone-traffic.js';
import { PostgresServer } from '../support/postgres-server.js';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.stop());

const TRIP: Trip = {
  id: '',
  riderId: 'r1',
  driverId: 'd1',
  pickup: { lat: 40.750_512_345_678_9, lng: -73.9934 },
  dropoff: { lat: 40.7484, lng: -73.9857 },
  metres: 689,
  fare: { amount_cents: 800, currency: 'USD' },
  startsAt: Date.UTC(2024, 0, 1),
  endsAt: Date.UTC(2024, 0, 1, 0, 0, 30),
};

/** A process of the application, as far as it writes. */
class Pod {
  now = TRIP.endsAt;
  readonly trips: TripLog;
  readonly traffic: ZoneTraffic;
  readonly accounts: RiderAccounts;

  constructor(
    readonly database: Database,
    variables: Record<string, string> = {},
  ) {
    const clock = { now: () => this.now };
    this.trips = new TripLog(clock, new ConfigService<Configuration, true>(readConfiguration(variables)), database);
    this.traffic = new ZoneTraffic(clock, database);
    this.accounts = new RiderAccounts(database);
  }

  async ids(riderId = 'r1', limit = 10): Promise<string[]> {
    return (await this.trips.ridden(riderId, limit)).map(({ id }) => id);
  }
}

/** Two pods of one database. In SQLite that is one process, so they share its connection. */
const OPEN = {
  SQLite: async () => {
    const database = await Database.open(undefined);
    return [database, database];
  },
  // At once: two pods that boot together migrate once.
  PostgreSQL: () => Promise.all([Database.open(server.url), Database.open(server.url)]),
};

describe.each(['SQLite', 'PostgreSQL'] as const)('two processes on %s', (kind) => {
  let one: Pod;
  let two: Pod;

  beforeEach(async () => {
    const [first, second] = await OPEN[kind]();
    one = new Pod(first!, { TRIPS_KEPT: '5000', TRIPS_KEPT_PER_RIDER: '3' });
    two = new Pod(second!, { TRIPS_KEPT: '5000', TRIPS_KEPT_PER_RIDER: '3' });
  });
  afterEach(async () => {
    await one.database.run(async (db) => {
      for (const table of ['trips', 'zone_traffic', 'written_batches'] as const) await db.deleteFrom(table).execute();
    });
    for (const database of new Set([one.database, two.database])) await database.onApplicationShutdown();
  });

  it('add up their counts of zones', async () => {
    await Promise.all(
      [one, two].map(async ({ traffic }) => {
        for (let i = 0; i < 1500; i++) {
          traffic.count(`z${i % 700}`, 'requests');
          if (i % 100 === 0) await traffic.counts();
        }
        traffic.count('z0', 'estimates');
      }),
    );
    for (const pod of [one, two]) await pod.traffic.counts();
    const counts = await two.traffic.counts();
    expect(counts.get('z0')).toEqual({ estimates: 2, requests: 6, matched: 0, no_driver: 0, unavailable: 0 });
    expect([...counts.values()].reduce((sum, { requests }) => sum + requests, 0)).toBe(3000);
    expect([one.traffic.total('requests'), counts.size]).toEqual([1500, 700]);
  });
});

describe('an unavailable PostgreSQL', () => {
  let pod: Pod;

  beforeEach(async () => {
    pod = new Pod(await Database.open(server.url));
  });
  afterEach(() => pod.database.onApplicationShutdown());

  it('writes each row once after a pause in which the answers were lost', async () => {
    pod.trips.record({ ...TRIP, id: 'before', riderId: 'paused' });
    expect(await pod.ids('paused')).toEqual(['before']);
    server.pause();
    try {
      pod.trips.record({ ...TRIP, id: 'during', riderId: 'paused' });
      pod.traffic.count('paused', 'requests');
      await expect(pod.ids('paused')).rejects.toThrow('the database is unavailable');
      await expect(pod.traffic.counts()).rejects.toThrow('the database is unavailable');
      expect(pod.database.available).toBe(false);
      expect(pod.database.writers.map(({ pending }) => pending)).toEqual([1, 1]);
    } finally {
      server.resume();
    }
    expect(await pod.ids('paused')).toEqual(['during', 'before']);
    expect((await pod.traffic.counts()).get('paused')).toMatchObject({ requests: 1 });
    expect(pod.database.available).toBe(true);
    expect(pod.database.writers.map(({ pending, dropped }) => [pending, dropped])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('the boot', () => {
  it.each([
    ['a wrong password', () => server.urlWith('wr0ng/pass'), /password authentication failed for user "floodgate"$/],
    [
      'a database that does not exist',
      () => server.urlWith(server.password, 'none'),
      /database "none" does not exist$/,
    ],
    ['a port without a server', () => 'postgres://app:wr0ng%2Fpass@127.0.0.1:1/city', /ECONNREFUSED/],
  ])('ends with the reason for %s, and without the password', async (_, url, reason) => {
    const error = await Database.open(url()).then(
      () => undefined,
      (refused: Error) => refused,
    );
    expect(error?.name).toBe('EnvironmentError');
    expect(error?.message).toMatch(/^DATABASE_URL names PostgreSQL at 127\.0\.0\.1:\d+\/\w+, which cannot be used: /);
    expect(error?.message).toMatch(reason);
    expect(JSON.stringify([error?.message, error?.stack, error?.cause])).not.toMatch(/pass\b|%2F/);
  });
});
