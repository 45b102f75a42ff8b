import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { Exposition } from '../support/exposition.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { RIDE, ZONE } from './support/requests.js';
import { ServiceProcess } from './support/service-process.js';

jest.setTimeout(120_000); // it is real time, and the machine may be busy

let postgres: PostgresServer;
let redis: RedisServer;
let pods: ServiceProcess[] = [];

beforeAll(async () => {
  [postgres, redis] = await Promise.all([PostgresServer.start(), RedisServer.start()]);
});
afterAll(() => Promise.all([postgres.stop(), redis.stop()]));
afterEach(async () => {
  postgres.resume();
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

/** Processes that boot at once. Trips end as they begin. */
async function start(count: number, variables: Record<string, string> = {}): Promise<void> {
  const one = (): Promise<ServiceProcess> =>
    ServiceProcess.start('main', {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      MATCHING_SERVICE_MS: '0',
      MATCHING_BURST: '10000',
      TRIP_SECONDS: '0.001',
      ...variables,
    });
  pods = await Promise.all(Array.from({ length: count }, one));
}

const ride = (pod: number, riderId: string): request.Test =>
  request(pods[pod]!.url)
    .post('/api/rides/request')
    .set('X-User-Id', riderId)
    .send({ ...RIDE, rider_id: riderId });
const history = (pod: number, riderId: string): request.Test =>
  request(pods[pod]!.url).get('/api/trips/history').set('X-User-Id', riderId);
const stats = (pod: number): request.Test =>
  request(pods[pod]!.url).get('/api/admin/zones/stats').set('X-User-Id', 'op');

/** Waits until the process knows that the rider has `plus`: on a busy machine a first answer can come after the deadline of plans. */
async function knowsPlus(pod: number, riderId: string): Promise<void> {
  const { headers } = await until(
    () => ride(pod, riderId),
    (answer) => answer.headers['x-ratelimit-limit'] === '40',
  );
  expect(headers['x-ratelimit-limit']).toBe('40');
}

async function metrics(pod: number): Promise<Exposition> {
  return new Exposition((await request(pods[pod]!.url).get('/metrics').expect(200)).text);
}

async function until<T>(read: () => Promise<T>, done: (value: T) => boolean): Promise<T> {
  const limit = AbortSignal.timeout(20_000);
  for (;;) {
    const value = await read();
    if (done(value) || limit.aborted) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('three processes on one PostgreSQL and one Redis', () => {
  it('have the same history and statistics, and the limits of plans', async () => {
    await start(3);
    const trips: string[] = [];
    for (const pod of [0, 1, 2, 0]) trips.push((await ride(pod, 'rider-2').expect(200)).body.trip_id);
    for (const pod of [0, 1, 2]) {
      const { body } = await until(
        () => history(pod, 'rider-2').expect(200),
        (answer) => answer.body.trips.length === 4,
      );
      expect(body.trips.map(({ trip_id }: { trip_id: string }) => trip_id)).toEqual(trips.toReversed());
    }
    for (const pod of [0, 1, 2]) {
      const { body } = await stats(pod).expect(200);
      expect(body.zones[0]).toMatchObject({ zone: ZONE, requests: 4, matched: 4 });
    }

    const limits = async (riderId: string): Promise<string[]> =>
      Promise.all([0, 1, 2].map(async (pod) => (await ride(pod, riderId)).headers['x-ratelimit-limit']!));
    for (const pod of [0, 1, 2]) for (const rider of ['rider-2', 'rider-4']) await knowsPlus(pod, rider);
    expect(await limits('rider-2')).toEqual(['40', '40', '40']);
    expect(await limits('rider-1')).toEqual(['20', '20', '20']);
    expect(await limits('nobody')).toEqual(['20', '20', '20']);
    // The first requests have used a few tokens.
    const statuses = await Promise.all(
      Array.from({ length: 150 }, async (_, i) => (await ride(i % 3, 'rider-4')).status),
    );
    const admitted = statuses.filter((status) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(35);
    expect(statuses.filter((status) => status === 429).length).toBe(150 - admitted);
  });

  it('follow a plan that one of them changes', async () => {
    await start(2);
    const setPlan = (plan: unknown, id = 'rider-3'): request.Test =>
      request(pods[0]!.url).put(`/api/admin/riders/${id}/plan`).send({ plan });
    expect((await setPlan('plus').expect(200)).body).toEqual({ rider_id: 'rider-3', plan: 'plus' });
    await knowsPlus(1, 'rider-3');
    await setPlan('free').expect(200);
    expect((await setPlan('gold').expect(400)).body.message).toEqual(['plan must be one of free, plus']);
    expect((await setPlan('free', 'nobody').expect(404)).body.message).toBe('no rider has the id nobody');
    expect((await setPlan('free', 'not%20an%20id').expect(400)).body.message[0]).toMatch(/^rider must be 1 to 64/);
  });
});

describe('a PostgreSQL that', () => {
  it('hangs delays rides by no more than the deadline of plans, and loses none', async () => {
    await start(2);
    await knowsPlus(0, 'rider-2');
    await until(
      () => history(1, 'rider-2'),
      ({ body }) => body.trips.length > 0,
    );
    const before = (await history(0, 'rider-2')).body.trips.length as number;
    postgres.pause();
    const answers = await Promise.all(
      [
        [0, 'rider-2'],
        [1, 'rider-2'],
        [1, 'rider-1'],
        [0, 'stranger'],
      ].map(async ([pod, riderId]) => {
        const since = performance.now();
        const { status, headers } = await ride(pod as number, riderId as string);
        return { status, limit: headers['x-ratelimit-limit'], ms: performance.now() - since };
      }),
    );
    // The last known plan, else the policies' own numbers.
    expect(answers.map(({ status, limit }) => `${status} ${limit}`)).toEqual(['200 40', '200 20', '200 20', '200 20']);
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(1000);
    const { body } = await history(0, 'rider-2').expect(503);
    expect(body).toEqual({ statusCode: 503, error: 'Service Unavailable', message: 'the database is unavailable' });
    await stats(1).expect(503);
    expect((await metrics(0)).get('ride_hailing_database_available')).toBe(0);
    expect((await metrics(0)).get('ride_hailing_database_pending', { kind: 'trips' })).toBe(2);

    postgres.resume();
    const after = await until(
      () => history(0, 'rider-2'),
      (answer) => answer.status === 200 && answer.body.trips.length === before + 2,
    );
    expect(after.body.trips).toHaveLength(before + 2);
    const scraped = await metrics(0);
    expect(scraped.get('ride_hailing_database_available')).toBe(1);
    expect(scraped.get('ride_hailing_database_dropped_total', { kind: 'trips' })).toBe(0);
    for (const { log } of pods) expect(log).not.toMatch(/s3cret|Unhandled/);
  });

  it('restarts is used again, by the same processes', async () => {
    await start(1);
    await ride(0, 'phoenix').expect(200);
    await postgres.end();
    await ride(0, 'phoenix').expect(200);
    await history(0, 'phoenix').expect(503);
    await postgres.restart();
    const answer = await until(
      () => history(0, 'phoenix'),
      ({ status, body }) => status === 200 && body.trips.length === 2,
    );
    expect(answer.body.trips).toHaveLength(2);
    expect(pods[0]!.log).toMatch(/WARN \[Database\] The database at 127\.0\.0\.1:\d+\/postgres is unavailable/);
    expect(pods[0]!.log).toMatch(/The database at \S+ answers again, after \d+ s/);
    expect(pods[0]!.log).not.toContain('s3cret');
  });

  it('gets the last trips of a process that ends', async () => {
    await start(2);
    await ride(0, 'leaver').expect(200);
    const { signal } = await pods[0]!.end('SIGTERM', 20_000);
    expect(signal).toBe('SIGTERM');
    expect((await history(1, 'leaver').expect(200)).body.trips).toHaveLength(1);
  });

  it.each([
    ['cannot be reached', () => 'postgres://app:s3cret@127.0.0.1:1/city', /127\.0\.0\.1:1\/city, .*ECONNREFUSED/],
    ['refuses the password', () => postgres.urlWith('s3cret'), /password authentication failed for user "floodgate"/],
    ['has a wrong URL', () => 'mysql://app:s3cret@db/city', /expected a URL that starts with postgres:\/\//],
  ])('%s stops the boot, and the error has no password', async (_, url, reason) => {
    const ended = await ServiceProcess.start('main', { DATABASE_URL: url() }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(ended).toMatch(/^the service ended \(1\):\n(.*ERROR.*\n)?.*DATABASE_URL /);
    expect(ended).toMatch(reason);
    expect(ended).not.toMatch(/s3cret|\n\s+at /);
  });
});
