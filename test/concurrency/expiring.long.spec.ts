import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisStore } from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { until } from '../support/faults/until.js';
import { LONG } from '../support/long.js';
import { Processes } from '../support/processes.js';
import { useRedis } from '../support/redis-fixture.js';
import { BUDGET } from './support/expiring-budget.js';
import type { procedures } from './workers/expiring.js';

const PODS = 4;
const KEY = 'rl:{user:ada}:app:budget:fw:25920000000000';
const script = new URL('workers/expiring.ts', import.meta.url);

const redis = useRedis();
let pods: Processes<typeof procedures>;

beforeAll(async () => {
  pods = await Processes.start(script, PODS);
});
afterAll(() => pods.stop());

async function used(): Promise<number> {
  const verdict = await new RedisStore(redis.client).consume([{ key: KEY, algorithm: algorithmOf(BUDGET), cost: 0 }]);
  return BUDGET.limit - verdict.charges[0]!.remaining;
}

it('what a killed process has reserved is given back once, by any of 4 processes', async () => {
  await pods.all('connect', () => redis.server.url);
  await pods.all('begin', () => undefined as never);
  await pods.one(0, 'reserve', { count: 7, cost: 10, expiresMs: 3_600_000, atExpiry: 0 }); // not due
  const victim = await Processes.start<typeof procedures>(script, 1);
  await victim.one(0, 'connect', redis.server.url);
  expect(await victim.one(0, 'reserve', { count: 200, cost: 10, expiresMs: 4_000, atExpiry: 3 })).toBe(200);
  await victim.stop();
  const sweeps = pods.all('sweepFor', () => 5_000);
  await until('what the killed process reserved is given back', 20_000, async () => (await used()) === 70 + 600);
  await sweeps;
  await pods.all('sweepFor', () => 200);
  expect(await used()).toBe(70 + 600);
  // The sweeps that run by themselves.
  const next = await Processes.start<typeof procedures>(script, 1);
  await next.one(0, 'connect', redis.server.url);
  await next.one(0, 'reserve', { count: 5, cost: 10, expiresMs: 100, atExpiry: 0 });
  await next.stop();
  await until('a sweep', 10_000, async () => (await used()) === 670);
});

it('settlements that race with expiries and with the sweeps of 4 processes are made once', async () => {
  await pods.all('connect', () => redis.server.url);
  await pods.all('begin', () => undefined as never);
  const rounds = LONG ? 10 : 2;
  const race = { count: 150, cost: 10, expiresMs: 600, atExpiry: 4 };
  for (let round = 0; round < rounds; round++) {
    await redis.client.del(KEY);
    const sweeps = pods.all('sweepFor', () => 1_200);
    const raced = await pods.all('race', (i) => ({ ...race, seed: round * PODS + i }));
    await sweeps;
    expect(await used()).toBe(raced.reduce((sum, { charged }) => sum + charged, 0));
  }
});
