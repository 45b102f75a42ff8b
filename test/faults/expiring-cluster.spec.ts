import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, jest } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { until } from '../support/faults/until.js';
import { start } from '../support/http-app.js';

jest.setTimeout(60_000);

const MINE: Policy = { name: 'mine', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ALL: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 10_000, refill: '1/d', by: 'global' };
const SPREAD: Policy = {
  name: 'spread',
  algorithm: 'fixed-window',
  limit: 9_000,
  window: '300d',
  by: 'global',
  shards: 3,
};

const fixture = useCluster();

it('reservations of a process that is gone are settled in all slots of a Cluster, once', async () => {
  const boot = () =>
    start('Express', {
      imports: [RateLimitModule.forRoot({ redis: fixture.client, deadline: 5_000, onStoreFailure: 'closed' })],
    });
  const users = Array.from({ length: 20 }, (_, i) => ({ kind: 'user', value: `u${i}` }));
  await using one = await boot();
  await using two = await boot();
  {
    await using gone = await boot();
    const limiter = gone.app.get(RateLimiter);
    const made = await Promise.all(
      users.map((user) => limiter.reserve([MINE, ALL, SPREAD], user, { cost: 50, expires: '500ms', atExpiry: 20 })),
    );
    expect(made.map(({ allowed }) => allowed)).toEqual(users.map(() => true));
    // Settled in time: nothing is left for others.
    const settled = await Promise.all(made.slice(0, 5).map((reservation) => reservation.settle(40)));
    expect(settled.map(({ settledBy }) => settledBy)).toEqual(settled.map(() => 'store'));
  }
  const limiter = one.app.get(RateLimiter);
  const left = async (): Promise<number[]> => {
    const decisions = await Promise.all(users.map((user) => limiter.peek([MINE, ALL, SPREAD], user)));
    const [mine, all, spread] = [0, 1, 2].map((i) => decisions.map(({ policies }) => policies[i]!.remaining));
    return [...mine!, Math.min(...all!), Math.round(Math.min(...spread!) / 100)];
  };
  await delay(600);
  const others = [one, two].map(async ({ app }) =>
    app.get(RateLimiter).reserve({ ...MINE, name: 'other' }, users[0]!, { cost: 1, expires: '1h', atExpiry: 'cancel' }),
  );
  await Promise.all(others);
  const used = 5 * 40 + 15 * 20;
  const expected = [...users.map((_, i) => (i < 5 ? 60 : 80)), 10_000 - used];
  await until('all are given back', 10_000, async () => (await left()).slice(0, -1).join() === expected.join());
  await delay(300);
  expect((await left()).slice(0, -1)).toEqual(expected);
  expect([one, two].flatMap(({ logs }) => logs.of('warn'))).toEqual([]);
});
