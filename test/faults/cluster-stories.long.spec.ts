import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule, RateLimitOverrides } from 'nestjs-floodgate';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import { until } from '../support/faults/until.js';
import { type HttpApp, start } from '../support/http-app.js';

const LIMIT_MS = 20_000;
const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const MINE: Policy = { name: 'mine', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ALL: Policy = { ...MINE, name: 'all', limit: 10_000, by: 'global' };
const SPREAD: Policy = { ...ALL, name: 'spread', limit: 9_000, shards: 3 };
const USERS = Array.from({ length: 20 }, (_, i) => ({ kind: 'user', value: `u${i}` }));

const on = useClusterPod([], { deadline: 250 });

const boot = (): Promise<HttpApp> =>
  start('Express', {
    imports: [
      RateLimitModule.forRoot({
        redis: on.client,
        deadline: 10_000,
        onStoreFailure: 'closed',
        policies: { api: API, all: ALL, few: { ...ALL, name: 'few' } },
      }),
    ],
  });

it('reservations of a process that is gone are settled in all slots of a Cluster, once', async () => {
  await using one = await boot();
  await using two = await boot();
  {
    await using gone = await boot();
    const limiter = gone.app.get(RateLimiter);
    const made = await Promise.all(
      USERS.map((user) => limiter.reserve([MINE, 'all', SPREAD], user, { cost: 50, expires: '2s', atExpiry: 20 })),
    );
    expect(made.map(({ allowed }) => allowed)).toEqual(USERS.map(() => true));
    // Settled in time: nothing is left for others.
    const settled = await Promise.all(made.slice(0, 5).map((reservation) => reservation.settle(40)));
    expect(settled.map(({ settledBy }) => settledBy)).toEqual(settled.map(() => 'store'));
  }
  const left = async (): Promise<string> => {
    const decisions = await Promise.all(USERS.map((user) => one.app.get(RateLimiter).peek([MINE, 'all'], user)));
    const [mine, all] = [0, 1].map((i) => decisions.map(({ policies }) => policies[i]!.remaining));
    return [...mine!, Math.min(...all!)].join();
  };
  // Pods look for the reservations of others once they make some.
  for (const { app } of [one, two]) {
    const other = { cost: 1, expires: '1h', atExpiry: 'cancel' } as const;
    await app.get(RateLimiter).reserve({ ...MINE, name: 'other' }, USERS[0]!, other);
  }
  const expected = [...USERS.map((_, i) => (i < 5 ? 60 : 80)), 10_000 - (5 * 40 + 15 * 20)].join();
  await until('all are given back', LIMIT_MS, async () => (await left()) === expected);
  await delay(500); // a second refund would show
  expect(await left()).toBe(expected);
  expect([one, two].flatMap(({ logs }) => logs.of('warn'))).toEqual([]);
});

it('overrides lie in one slot of a Cluster, and every pod obeys', async () => {
  await using one = await boot();
  await using two = await boot();
  const overrides = one.app.get(RateLimitOverrides);
  await Promise.all(USERS.map((identity, i) => overrides.set({ policy: 'api', identity }, { capacity: 10 + i })));
  await overrides.set({ policy: 'few' }, { limit: 7 });
  const limiter = two.app.get(RateLimiter);
  await until(
    'the other pod obeys',
    LIMIT_MS,
    async () => (await limiter.peek('few', USERS[0]!)).policies[0]!.limit === 7,
  );
  for (const [i, user] of USERS.entries()) {
    // In two slots: a cross-slot request obeys as well.
    const { policies, allowed } = await limiter.consume(['api', 'few'], user);
    expect(policies.map(({ limit }) => limit)).toEqual([10 + i, 7]);
    expect(allowed).toBe(i < 7);
  }
  expect((await two.app.get(RateLimitOverrides).list()).items).toHaveLength(21);
  expect(two.logs.of('warn')).toEqual([]);
});
