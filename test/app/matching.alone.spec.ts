import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConflictException } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../../src/config/configuration.js';
import { readConfiguration } from '../../src/config/read-configuration.js';
import { CENTER } from '../../src/geo/position.js';
import { zoneOf } from '../../src/geo/zone.js';
import { LocalMatchingService } from '../../src/matching/local-matching.service.js';
import { Matching, MatchingUnavailableError } from '../../src/matching/matching.js';
import { RemoteMatching } from '../../src/matching/remote-matching.js';
import { QUICK } from './support/start-app.js';
import { startMatching } from './support/start-matching.js';

const PARIS = { lat: 48.8566, lng: 2.3522 };
const clock = { ms: 0 };

let matching: Matching;
let shutDown: () => Promise<void>;
let close: () => Promise<void>;

type Start = (variables?: Record<string, string>) => Promise<void>;

const inThisProcess: Start = async (variables) => {
  const local = LocalMatchingService.create(
    new ConfigService<Configuration, true>(readConfiguration({ ...QUICK, ...variables })),
    { now: () => clock.ms },
  );
  matching = local;
  shutDown = () => local.onModuleDestroy();
  close = shutDown;
};

const asAService: Start = async (variables) => {
  const service = await startMatching(variables, clock);
  const remote = new RemoteMatching(`${service.url}/`, readConfiguration({ ...QUICK, ...variables }).matching);
  matching = remote;
  shutDown = () => service.app.close();
  close = async () => {
    await remote.onApplicationShutdown();
    await shutDown();
  };
};

const outcomes = (asked: Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(
    asked.map((one) =>
      one.then(
        () => 'answered',
        (error: unknown) => (error instanceof MatchingUnavailableError ? error.reason : error),
      ),
    ),
  );

beforeEach(() => {
  clock.ms = Date.UTC(2024, 0, 1);
});
afterEach(() => close());

describe.each([
  ['in this process', inThisProcess],
  ['as a service', asAService],
])('matching %s', (_, start) => {
  it('matches the nearest driver for the length of a trip, at the surge of the zone', async () => {
    await start({ DRIVERS_SEEDED: '3', TRIP_SECONDS: '30' });
    await matching.setSurgeFactor(zoneOf(CENTER), 1.5);
    expect(await matching.match(CENTER)).toEqual({
      driverId: 'driver-0001',
      lat: expect.closeTo(CENTER.lat, 1),
      lng: expect.closeTo(CENTER.lng, 1),
      distanceKm: expect.closeTo(0.8, 0),
      claimedAt: clock.ms,
      freeAt: clock.ms + 30_000,
      surgeFactor: 1.5,
    });
    expect(await matching.match(PARIS)).toBeUndefined();
  });

  it('gives no driver to two concurrent riders', async () => {
    await start({ DRIVERS_SEEDED: '20' });
    const matches = await Promise.all(Array.from({ length: 30 }, () => matching.match(CENTER)));
    const drivers = matches.flatMap((match) => match?.driverId ?? []);
    expect(drivers).toHaveLength(20);
    expect(new Set(drivers).size).toBe(20);
    clock.ms += 30_000;
    expect(await matching.match(CENTER)).toBeDefined();
  });

  it('shows free drivers where they reported', async () => {
    await start({ DRIVERS_SEEDED: '0' });
    await matching.report([
      { driverId: 'a', ...PARIS },
      { driverId: 'b', lat: CENTER.lat + 0.001, lng: CENTER.lng },
      { driverId: 'a', ...CENTER },
    ]);
    expect(await matching.nearby(CENTER, 1, 10)).toEqual([
      { driverId: 'a', ...CENTER, distanceKm: 0 },
      { driverId: 'b', lat: CENTER.lat + 0.001, lng: CENTER.lng, distanceKm: expect.closeTo(0.111, 3) },
    ]);
    expect(await matching.nearby(CENTER, 1, 1)).toHaveLength(1);
    expect(await matching.nearby(CENTER, 0.1, 10)).toHaveLength(1);
    expect(await matching.nearby({ lat: -90, lng: -180 }, 20, 10)).toEqual([]);
  });

  it('knows the surge factors and drivers of zones', async () => {
    await start({ DRIVERS_SEEDED: '0' });
    const zone = zoneOf(CENTER);
    await matching.report([{ driverId: 'a', ...CENTER }]);
    await matching.setSurgeFactor(zoneOf(PARIS), 2.25);
    expect(await matching.surgeFactor(zone)).toBe(1);
    expect(await matching.surgeFactor(zoneOf(PARIS))).toBe(2.25);
    expect(await matching.zones()).toEqual([
      { zone, free: 1, busy: 0, surgeFactor: 1 },
      { zone: zoneOf(PARIS), free: 0, busy: 0, surgeFactor: 2.25 },
    ]);
    await matching.match(CENTER);
    expect(await matching.zones()).toContainEqual({ zone, free: 0, busy: 1, surgeFactor: 1 });
  });

  it('names the reason why it rejects a request, and counts', async () => {
    await start({
      MATCHING_WORKERS: '2',
      MATCHING_SERVICE_MS: '1000',
      MATCHING_QUEUE: '2',
      MATCHING_PATIENCE_MS: '500',
    });
    const match = (): Promise<unknown> => matching.match(CENTER);
    const taken = outcomes([match(), match()]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const late = outcomes([match(), match(), match()]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await matching.statistics()).toMatchObject({ workers: 2, busy: 2, waiting: 2, queue: 2 });
    const reasons = await late;
    expect(reasons.filter((reason) => reason === 'queue full')).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'waited too long')).toHaveLength(2);
    expect(await taken).toEqual(['answered', 'answered']);
    const { busy, waiting, total } = await matching.statistics();
    expect({ busy, waiting, ...total }).toMatchObject({ busy: 0, waiting: 0, asked: 5, unavailable: 3 });
    expect(total.busyMs).toBeGreaterThanOrEqual(1990);
  });

  it('rejects waiting requests when it shuts down, and finishes running ones', async () => {
    await start({ MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '200' });
    const asked = outcomes([
      matching.match(CENTER),
      matching.nearby(CENTER, 1, 1),
      matching.surgeFactor(zoneOf(CENTER)),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await shutDown();
    expect(await asked).toEqual(['answered', 'shutting down', 'shutting down']);
  });

  it('limits the number of zones with a surge factor', async () => {
    await start();
    const spot = (i: number): { lat: number; lng: number } => ({
      lat: -60 + (i % 101),
      lng: -150 + Math.floor(i / 101),
    });
    const zones = [...new Set(Array.from({ length: 10_001 }, (__, i) => zoneOf(spot(i))))];
    expect(zones).toHaveLength(10_001);
    const last = zones.pop()!;
    for (let i = 0; i < zones.length; i += 50) {
      await Promise.all(zones.slice(i, i + 50).map((zone) => matching.setSurgeFactor(zone, 2)));
    }
    await expect(matching.setSurgeFactor(last, 2)).rejects.toThrow(ConflictException);
    await expect(matching.setSurgeFactor(last, 2)).rejects.toThrow('10000 zones have a surge factor');
  }, 30_000);
});
