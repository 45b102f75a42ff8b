import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import request from 'supertest';
import type { PolicyTick, Tick } from '../../libs/control-room/live.js';
import { commandsDuring } from '../concurrency/support/command-stats.js';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { LiveStream } from './support/live-stream.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

jest.setTimeout(30_000);

const TOKEN = '0123456789abcdef0123456789abcdef';
const RIDER = { kind: 'user', value: 'rider-1' };
const TARGET = { policy: 'rider', identity: RIDER };

let redis: RedisServer;
let services: readonly [Service, Service];

beforeEach(async () => {
  redis = await RedisServer.start();
  const variables = { RATE_LIMIT: 'on', REDIS_URL: redis.url, ADMIN_TOKEN: TOKEN };
  services = [await start('Express', variables), await start('Express', variables)];
});

afterEach(async () => {
  for (const { app } of services) await app.close();
  await redis.stop();
});

function operate(path: 'overrides' | 'overrides/remove', body: object): request.Test {
  const agent = request(services[0].url);
  const url = `/api/admin/limits/${path}`;
  const asked = path === 'overrides' ? agent.put(url) : agent.post(url);
  return asked.set('Authorization', `Bearer ${TOKEN}`).send(body).expect(200);
}

async function rideOf({ url }: Service, rider: string): Promise<void> {
  await request(url)
    .post('/api/rides/request')
    .set('X-User-Id', rider)
    .send({ ...RIDE, rider_id: rider })
    .expect(200);
}

function ridesOf(tick: Tick | undefined, rider = 'rider-1'): PolicyTick | null | undefined {
  return tick?.lanes['rides']!.riders[rider]?.[0];
}

/** The lane `rides` of the rider in a new tick for which `is` holds. */
async function laneSoon(stream: LiveStream, is: (policy: PolicyTick) => boolean): Promise<PolicyTick> {
  const after = stream.ticks.length;
  return until('the lane', 1000, () =>
    stream.ticks
      .slice(after)
      .map((tick) => ridesOf(tick))
      .find((policy) => policy !== null && policy !== undefined && is(policy)),
  ) as Promise<PolicyTick>;
}

describe('the control room', () => {
  it('shows an override in every process within a second, with its own numbers, and no other rider', async () => {
    await using stream = await LiveStream.open(services[1].url);
    const before = await until('a tick', 2000, () => ridesOf(stream.ticks.at(-1)));
    expect(before).toMatchObject({ numbers: { limit: 20, perSecond: 10 }, override: null, state: { fullAt: 0 } });

    const { body } = await operate('overrides', {
      ...TARGET,
      change: { capacity: 5, refill: '60/m' },
      expiresIn: '24h',
      reason: 'ticket 7',
      author: 'ada',
    });
    const lane = await laneSoon(stream, ({ override }) => override !== null);
    expect(lane.override).toEqual({
      change: { capacity: 5, refill: '60/m' },
      expiresAt: new Date(body.expiresAtMs as number).toISOString(),
    });
    expect(lane.numbers).toEqual({ limit: 5, perSecond: 1, windowMs: 0 });
    const tick = stream.ticks.at(-1)!;
    expect(ridesOf(tick, 'rider-2')).toMatchObject({ numbers: { limit: 40 }, override: null });
    expect(tick.lanes['rides']!.riders['rider-1']![1]).toMatchObject({ numbers: { limit: 60 }, override: null });

    // The state is the one that requests meet: three of five tokens leave the bucket two seconds from full, at most.
    const since = Date.now();
    for (let i = 0; i < 3; i++) {
      await rideOf(services[0], 'rider-1');
    }
    const used = await laneSoon(
      stream,
      ({ state }) => state?.algorithm === 'token-bucket' && state.fullAt > since + 1500,
    );
    const { limit } = (await services[1].app.get(RateLimiter).explain('POST /api/rides/request', RIDER)).policies[0]!
      .level!;
    expect([limit, used.numbers!.limit]).toEqual([5, 5]);

    await operate('overrides/remove', TARGET);
    expect(await laneSoon(stream, ({ override }) => override === null)).toMatchObject({ numbers: { limit: 20 } });
  });

  it('shows that a rider is blocked or exempt, as having no state', async () => {
    await using stream = await LiveStream.open(services[1].url);
    for (const change of [{ blocked: true }, { exempt: true }] as const) {
      await operate('overrides', { ...TARGET, change });
      const lane = await laneSoon(
        stream,
        ({ override }) => JSON.stringify(override?.change) === JSON.stringify(change),
      );
      expect(lane).toMatchObject({ override: { change, expiresAt: null }, state: null });
      // The other policy of the lane is drawn as before.
      expect(stream.ticks.at(-1)!.lanes['rides']!.riders['rider-1']![1]).toMatchObject({ state: { fullAt: 0 } });
    }
  });

  it('shows the plan of a rider and its numbers, before and after their first request', async () => {
    await using stream = await LiveStream.open(services[1].url);
    const plus = { numbers: { limit: 40, perSecond: 20, windowMs: 0 }, plan: { name: 'plus', isKnown: true } };
    const of = (rider: string): PolicyTick | null | undefined => ridesOf(stream.ticks.at(-1), rider);
    await until('the plan of the account', 2000, () => of('rider-2')?.plan?.isKnown === true);
    expect(of('rider-2')).toMatchObject(plus);
    expect(of('rider-1')).toMatchObject({ numbers: { limit: 20, perSecond: 10 }, plan: { name: null, isKnown: true } });
    await Promise.all(Array.from({ length: 35 }, () => rideOf(services[1], 'rider-2')));
    const charged = await until('the charge', 2000, () =>
      stream.ticks
        .map((tick) => ridesOf(tick, 'rider-2'))
        .find((policy) => policy?.state?.algorithm === 'token-bucket' && policy.state.fullAt > 0),
    );
    expect(charged).toMatchObject(plus);
    const last = stream.ticks.length;
    await until('another tick', 2000, () => stream.ticks.length > last);
    expect(of('rider-2')).toMatchObject(plus);
    expect(stream.ticks.at(-1)!.lanes['stats']!.riders['rider-2']).toMatchObject([{ plan: null }]);
  });

  it('does not tell viewers why and by whom an override was set', async () => {
    await services[0].app
      .get(RateLimitOverrides)
      .set(TARGET, { capacity: 5 }, { reason: 'a private reason', author: 'ada@example.com' });
    await using stream = await LiveStream.open(services[0].url);
    await until('the override', 2000, () => ridesOf(stream.ticks.at(-1))?.override);
    expect(JSON.stringify(stream.events)).not.toMatch(/private|ada@/);
  });

  it('asks Redis at most once a tick, however many viewers there are', async () => {
    const client = new Redis(redis.url);
    const streams: LiveStream[] = [];
    try {
      await operate('overrides', { ...TARGET, change: { capacity: 5 } });
      // Until then the page also asks what the plans of their accounts would give them.
      for (const rider of ['rider-1', 'rider-2']) await rideOf(services[1], rider);
      const scripts = async (viewers: number): Promise<number> => {
        while (streams.length < viewers) streams.push(await LiveStream.open(services[1].url));
        await delay(500);
        const stats = await commandsDuring(client, () => delay(2600));
        return stats('evalsha').calls;
      };
      const none = await scripts(0);
      const one = await scripts(1);
      const eight = await scripts(8);
      // 2.6 s are ten ticks.
      expect(one - none).toBeGreaterThan(3);
      expect(one - none).toBeLessThanOrEqual(12);
      expect(eight - none).toBeLessThanOrEqual(12);
    } finally {
      for (const stream of streams) await stream[Symbol.asyncDispose]();
      await client.quit();
    }
  });

  it('sends no tick but heartbeats while nothing happens to a bucket that refills', async () => {
    await operate('overrides', { ...TARGET, change: { capacity: 5, refill: '1/m' } });
    for (let i = 0; i < 3; i++) {
      await rideOf(services[0], 'rider-1');
    }
    await delay(500);
    const since = performance.now();
    await using stream = await LiveStream.open(services[0].url);
    await until('a tick', 2000, () => stream.ticks.length > 0);
    const states = (): unknown[] => stream.ticks.map((tick) => ridesOf(tick)!.state);
    await delay(4000);
    expect(new Set(states().map((state) => JSON.stringify(state))).size).toBe(1);
    // One heartbeat a second, also where a busy machine makes the seconds longer.
    expect(stream.ticks.length).toBeLessThanOrEqual(3 + (performance.now() - since) / 1000);
  });
});
