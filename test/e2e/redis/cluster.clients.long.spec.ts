import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import {
  type Decision,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type StoreStateChange,
} from 'nestjs-floodgate';
import { useOneNode } from '../../support/faults/by-node.js';
import { until } from '../../support/faults/until.js';
import { type HttpApp, start } from '../../support/http-app.js';

const STATE_LIMIT_MS = 20_000;
/** A breaker sends its first probe within this time. */
const PROBE_MS = 500;
const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { algorithm: 'fixed-window', window: '300d' } as const;
const ONE: Policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/h' };
const DAILY: Policy = { ...WINDOW, name: 'daily', limit: 1 };

/** It enforces the rules of a large Cluster. */
const node = useOneNode();

/** The store decides, however busy the machine is. */
const boot = (options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
  start('Express', { imports: [RateLimitModule.forRoot({ redis: node.client, deadline: '10s', ...options })] });

const limiterOf = ({ app }: HttpApp): RateLimiter => app.get(RateLimiter);

it.each([undefined, 2])('reservations that are open in several slots make estimates; shards: %s', async (shards) => {
  await using app = await boot();
  const policies: Policy[] = [
    { ...WINDOW, name: 'mine', limit: 2 },
    { ...WINDOW, name: 'all', limit: 4, by: 'global', ...(shards && { shards }) },
  ];
  const reserve = (user: string): ReturnType<RateLimiter['reserve']> =>
    limiterOf(app).reserve(policies, { kind: 'user', value: user });
  const said = ({ decision }: Awaited<ReturnType<typeof reserve>>): unknown[] =>
    decision.policies.map(({ allowed, estimated, retryAfterMs }) => [allowed, estimated, retryAfterMs! > 1_000]);
  const open = await Promise.all(['ada', 'ada', 'bob', 'eve'].map(reserve));
  expect(open.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
  const [passes, estimate, certain] = [
    [true, undefined, false],
    [false, true, false],
    [false, undefined, true],
  ];
  // The second time, too: no such rejection is kept as certain.
  for (let i = 0; i < 2; i++) {
    expect(said(await reserve('joe'))).toEqual([passes, estimate]);
    expect(said(await reserve('ada'))).toEqual([estimate, estimate]);
  }
  for (const one of open.slice(0, 2)) await one.settle(1);
  expect(said(await reserve('ada'))).toEqual([certain, estimate]);
  for (const one of open.slice(2)) await one.settle(1);
  for (let i = 0; i < 2; i++) expect(said(await reserve('joe'))).toEqual([passes, certain]);
});

const ALL: Policy = { ...WINDOW, name: 'all', by: 'global', limit: 2 };
const MINE: Policy = { ...WINDOW, name: 'mine', limit: 1_000 };

it.each<[string, Policy]>([
  ['one key', ALL],
  ['two shards', { ...ALL, shards: 2 }],
])(
  "a reset of a policy by 'global' takes effect in its own process at once, in others within a second (%s)",
  async (_, all) => {
    await using own = await boot();
    await using other = await boot();
    const [resetting, observing] = [limiterOf(own), limiterOf(other)];
    const ask = (limiter: RateLimiter): Promise<Decision> => limiter.consume([all, MINE], ADA);
    for (let i = 0; i < 2; i++) expect((await ask(resetting)).allowed).toBe(true);
    // The last round comes just before the cached rejection expires, and must not prolong it.
    for (const pauseMs of [0, 500, 450]) {
      await delay(pauseMs);
      for (const limiter of [resetting, observing]) expect((await ask(limiter)).allowed).toBe(false);
      expect((await observing.consume([all], ADA)).allowed).toBe(false);
    }
    await resetting.reset(all, ADA);
    const resetAt = performance.now();
    expect((await ask(resetting)).allowed).toBe(true);
    // By the instant at which the last rejected request was sent: a stall of a busy machine delays only what comes after it.
    let rejectedMs = 0;
    await until('the other process sees the reset', STATE_LIMIT_MS, async () => {
      const askedMs = performance.now() - resetAt;
      const { allowed } = await ask(observing);
      if (!allowed) rejectedMs = askedMs;
      return allowed;
    });
    expect(rejectedMs).toBeLessThanOrEqual(1_000);
  },
);

it('after close a request gets a local decision, no probe looks for the Cluster, and the Cluster stays open', async () => {
  const changes: StoreStateChange[] = [];
  const app = await boot({ onStoreStateChange: (change) => changes.push(change) });
  const limiter = limiterOf(app);
  expect(await limiter.consume([ONE, DAILY], ADA)).toMatchObject({ allowed: true, decidedBy: 'store' });
  await limiter.reset([ONE, DAILY], ADA);
  expect(await limiter.consume([ONE, DAILY], ADA)).toMatchObject({ allowed: true, decidedBy: 'store' });
  await app.close();
  const FAILURES = 6; // more than open a breaker
  for (let i = 0; i < FAILURES; i++) expect(await limiter.consume(DAILY, ADA)).toMatchObject({ decidedBy: 'local' });
  await delay(PROBE_MS);
  expect(limiter.stats().storeFailures).toBe(FAILURES); // those of the requests, and none of a probe
  expect(changes).toEqual([]);
  expect(await node.client.set('still', 'open')).toBe('OK');
});

it('the library needs no more rights on a Cluster than docs/redis.md grants', async () => {
  const rights =
    'evalsha eval time get mget exists set del llen lindex rpush ltrim expireat pexpire info cluster|slots cluster|info';
  const granted = rights.split(' ').map((right) => `+${right}`);
  await node.admin.call('ACL', 'SETUSER', 'floodgate', 'on', '>secret', '~rl:*', '-@all', ...granted);
  await node.admin.call('ACL', 'LOG', 'RESET');
  const client = new Cluster([{ host: node.server.host, port: node.server.port }], {
    lazyConnect: true, // the module uses only a duplicate of it
    redisOptions: { username: 'floodgate', password: 'secret' },
  });
  await using app = await boot({ redis: client });
  const limiter = limiterOf(app);
  const all: Policy = { ...DAILY, name: 'all', by: 'global' };
  for (const allowed of [true, false]) {
    expect(await limiter.consume([ONE, all], ADA)).toMatchObject({ allowed, decidedBy: 'store' });
  }
  await limiter.reset([ONE, all], ADA);
  expect(await limiter.consume([ONE, all], ADA)).toMatchObject({ allowed: true, decidedBy: 'store' });
  const denied = (await node.admin.call('ACL', 'LOG')) as string[][];
  // ioredis tries to name its connections, and goes on when the ACL forbids it.
  expect(denied.filter((entry) => !entry.includes('client|setname'))).toEqual([]);
  expect(app.logs.of('warn')).toEqual([]);
});
