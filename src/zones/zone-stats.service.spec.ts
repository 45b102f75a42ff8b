import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { Database } from '../database/database.js';
import { CENTER } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import { LocalMatchingService } from '../matching/local-matching.service.js';
import { ZoneStatsService } from './zone-stats.service.js';
import { ZoneTraffic } from './zone-traffic.js';

let database: Database;
let now: number;

beforeEach(async () => {
  now = 0;
  database = await Database.open(undefined);
});
afterEach(() => database.onApplicationShutdown());

function setUp(): { matching: LocalMatchingService; traffic: ZoneTraffic; zones: ZoneStatsService } {
  const matching = LocalMatchingService.create(
    new ConfigService<Configuration, true>(readConfiguration({ DRIVERS_SEEDED: '0' })),
    { now: () => 0 },
  );
  const traffic = new ZoneTraffic({ now: () => now }, database);
  return { matching, traffic, zones: new ZoneStatsService(traffic, matching) };
}

it('combines traffic, drivers and surge factor of every zone, the busiest first', async () => {
  const { matching, traffic, zones } = setUp();
  const center = zoneOf(CENTER);
  await matching.report([{ driverId: 'a', ...CENTER }]);
  traffic.count('busy', 'requests');
  traffic.count('busy', 'requests');
  traffic.count('busy', 'matched');
  traffic.count('busy', 'unavailable');
  traffic.count('curious', 'estimates');
  await matching.setSurgeFactor('pricey', 2);

  const zero = {
    estimates: 0,
    requests: 0,
    matched: 0,
    no_driver: 0,
    unavailable: 0,
    drivers_free: 0,
    drivers_busy: 0,
    surge_factor: 1,
  };
  expect(await zones.stats(100)).toEqual([
    { ...zero, zone: 'busy', requests: 2, matched: 1, unavailable: 1 },
    { ...zero, zone: 'curious', estimates: 1 },
    { ...zero, zone: center, drivers_free: 1 },
    { ...zero, zone: 'pricey', surge_factor: 2 },
  ]);
  expect(await zones.stats(1)).toHaveLength(1);
});

it('forgets the traffic of the least recent zones beyond the limit', async () => {
  const { traffic, zones } = setUp();
  traffic.count('old', 'requests');
  expect((await traffic.counts()).get('old')).toMatchObject({ requests: 1 });
  now = 1;
  for (let i = 0; i < 10_000; i++) traffic.count(`z${i}`, 'requests');
  const counts = await traffic.counts();
  expect(counts.get('old')).toBeUndefined();
  expect(counts.get('z9999')).toMatchObject({ requests: 1 });
  expect(traffic.total('requests')).toBe(10_001);
  expect(await zones.stats(20_000)).toHaveLength(10_000);
});
