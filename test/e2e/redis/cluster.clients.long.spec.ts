import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster, Redis } from 'ioredis';
import { type Decision, type Policy, RateLimiter, RateLimitModule, type StoreStateChange } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

const STATE_LIMIT_MS = 10_000;
/** The store decides, however busy the machine is. */
const DEADLINE = '10s';
/** A breaker sends its first probe within this time. */
const PROBE_MS = 500;
/** The shortest lease. */
const LEASE_MS = 1_000;
const USERS = ['ada', 'bob', 'eve', 'joe'];

const ONE: Policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/h' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 1, window: '300d' };

let server: RedisServer;
let cluster: Cluster;

/** One node serves all slots. It enforces the rules of a large Cluster. */
beforeEach(async () => {
  server = await RedisServer.start({ args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] });
  const node = new Redis(server.url);
  await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until('the cluster is ready', STATE_LIMIT_MS, async () =>
    (await node.cluster('INFO')).includes('cluster_state:ok'),
  );
  node.disconnect();
  cluster = new Cluster([{ host: server.host, port: server.port }]);
});

afterEach(async () => {
  cluster.disconnect();
  await server.stop();
});

it.each<[string, [Policy, ...Policy[]]]>([
  ['one policy', [ONE]],
  ['two policies', [ONE, DAILY]],
])('a Cluster decides concurrent requests of users in several slots: %s', async (_, policies) => {
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
  });
  const limiter = app.app.get(RateLimiter);
  const ask = (i: number): Promise<Decision> =>
    limiter.consume(policies, { kind: 'user', value: USERS[i % USERS.length]! });
  const decisions = await Promise.all(Array.from({ length: 40 }, (__, i) => ask(i)));
  expect(decisions.map(({ decidedBy }) => decidedBy)).toEqual(decisions.map(() => 'store'));
  // The first request of each user is allowed.
  expect(decisions.map(({ allowed }) => allowed)).toEqual(decisions.map((__, i) => i < USERS.length));
  expect(app.logs.of('warn')).toEqual([]);
});

it.each([undefined, 2])('reservations that are open in several slots make estimates; shards: %s', async (shards) => {
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
  });
  const limiter = app.app.get(RateLimiter);
  const window = { algorithm: 'fixed-window', window: '300d' } as const;
  const policies: Policy[] = [
    { ...window, name: 'mine', limit: 2 },
    { ...window, name: 'all', limit: 4, by: 'global', ...(shards && { shards }) },
  ];
  const reserve = (user: string): ReturnType<RateLimiter['reserve']> =>
    limiter.reserve(policies, { kind: 'user', value: user });
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

it('leases in several slots are taken together, renewed, and released, each by the clock of its slot', async () => {
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
  });
  const limiter = app.app.get(RateLimiter);
  const lease = { algorithm: 'concurrency', lease: '1s' } as const;
  const queue: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1_000, drain: 1_000, by: 'global' };
  const policies: Policy[] = [
    { ...lease, name: 'mine', limit: 1 },
    { ...lease, name: 'all', limit: 3, by: 'global' },
    queue,
  ];
  const acquire = (user: string): ReturnType<RateLimiter['acquire']> =>
    limiter.acquire(policies, { kind: 'user', value: user });
  const isFree = async (): Promise<boolean> => (await limiter.peek(policies[1]!, ADA)).policies[0]!.remaining === 3;
  for (let i = 0; i < 5; i++) {
    (await acquire('joe')).release();
    await until('joe has released it', 200, isFree); // before any renewal
  }
  const held = await Promise.all(['ada', 'bob', 'eve'].map(acquire));
  expect(held.map(({ allowed }) => allowed)).toEqual([true, true, true]);
  for (const since = performance.now(); performance.now() - since < 2_200; await delay(100)) {
    expect((await acquire('joe')).decision.policies.map(({ allowed }) => allowed)).toEqual([true, false, true]);
    expect((await acquire('ada')).decision.policies[0]!.allowed).toBe(false);
  }
  for (const one of held) one.release();
  await until('all are free', 500, isFree); // sooner than they end by themselves
  for (const user of USERS.slice(0, 3)) expect((await acquire(user)).allowed).toBe(true);
});

const ADA = { kind: 'user', value: 'ada' };
const ALL: Policy = { name: 'all', by: 'global', algorithm: 'fixed-window', limit: 2, window: '300d' };
const MINE: Policy = { name: 'mine', algorithm: 'fixed-window', limit: 1_000, window: '300d' };

it.each<[string, Policy]>([
  ['one key', ALL],
  ['two shards', { ...ALL, shards: 2 }],
])(
  "a reset of a policy by 'global' takes effect in its own process at once, in others within a second (%s)",
  async (_, all) => {
    await using own = await start('Express', {
      imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
    });
    await using other = await start('Express', {
      imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
    });
    const [resetting, observing] = [own, other].map(({ app }) => app.get(RateLimiter)) as [RateLimiter, RateLimiter];
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

it('the denial cache keeps no rejection that is under way while its policy is reset', async () => {
  await using own = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })],
  });
  const limiter = own.app.get(RateLimiter);
  for (let i = 0; i < 2; i++) await limiter.consume([ALL, MINE], ADA);
  const underWay = limiter.consume([MINE, ALL], ADA);
  await Promise.all([limiter.reset(ALL, ADA), underWay]);
  expect((await limiter.consume([MINE, ALL], ADA)).allowed).toBe(true);
});

it('a reset clears policies on a Cluster that was handed in, and close leaves the Cluster open', async () => {
  const app = await start('Express', { imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })] });
  const limiter = app.app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  expect(await limiter.consume([ONE, DAILY], ada)).toMatchObject({ allowed: true, decidedBy: 'store' });
  await limiter.reset([ONE, DAILY], ada);
  expect(await limiter.consume([ONE, DAILY], ada)).toMatchObject({ allowed: true, decidedBy: 'store' });
  await app.close();
  expect(cluster.status).toBe('ready');
  expect(await cluster.set('still', 'open')).toBe('OK');
});

it('a request after close gets a local decision, and no probe looks for the Cluster any more', async () => {
  const changes: StoreStateChange[] = [];
  const app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, onStoreStateChange: (change) => changes.push(change) })],
  });
  const limiter = app.app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  expect(await limiter.consume(DAILY, ada)).toMatchObject({ allowed: true, decidedBy: 'store' });
  await app.close();
  const FAILURES = 6; // more than open a breaker
  for (let i = 0; i < FAILURES; i++) expect(await limiter.consume(DAILY, ada)).toMatchObject({ decidedBy: 'local' });
  await delay(PROBE_MS);
  expect(limiter.stats().storeFailures).toBe(FAILURES); // those of the requests, and none of a probe
  expect(changes).toEqual([]);
});

it('a lease that is held at close is renewed no more, and nothing is logged of it', async () => {
  const app = await start('Express', { imports: [RateLimitModule.forRoot({ redis: cluster, deadline: DEADLINE })] });
  const places: Policy = { name: 'places', algorithm: 'concurrency', limit: 1, lease: `${LEASE_MS}ms` };
  const lease = await app.app.get(RateLimiter).acquire(places, ADA);
  expect(lease.decision).toMatchObject({ allowed: true, decidedBy: 'store' });
  await app.close();
  await delay(LEASE_MS); // three renewals
  expect(app.logs.of('warn')).toEqual([]);
});

it('a node of one slot gets requests again only after a probe succeeded there', async () => {
  const SLOT = 16_383;
  await using other = await RedisServer.start({
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-node-timeout', '60000'],
  });
  const [here, there] = [new Redis(server.url), new Redis(other.url)];
  await here.call('CLUSTER', 'DELSLOTS', SLOT);
  await there.call('CLUSTER', 'SET-CONFIG-EPOCH', 1);
  await there.call('CLUSTER', 'ADDSLOTS', SLOT);
  await here.call('CLUSTER', 'MEET', other.host, other.port);
  const isWhole = async (node: Redis): Promise<boolean> =>
    /cluster_state:ok[^]*cluster_slots_assigned:16384/.test(await node.cluster('INFO'));
  await until('the nodes know each other', STATE_LIMIT_MS, async () => (await isWhole(here)) && isWhole(there));
  here.disconnect();
  there.disconnect();

  const changes: StoreStateChange[] = [];
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: cluster, onStoreStateChange: (change) => changes.push(change) })],
  });
  const limiter = app.app.get(RateLimiter);
  let i = 0;
  while (calculateSlot(`{user:${i}}`) !== SLOT) i++;
  const user = { kind: 'user', value: `${i}` };
  await until('the node decides', STATE_LIMIT_MS, async () => (await limiter.peek(ONE, user)).decidedBy === 'store');
  other.pause();
  for (let n = 0; n < 5; n++) expect((await limiter.peek(ONE, user)).decidedBy).toBe('local');
  await delay(3 * PROBE_MS);
  expect(changes).toMatchObject([{ available: false, node: `${other.host}:${other.port}` }]);
  other.resume();
  await until(
    'the node decides again',
    STATE_LIMIT_MS,
    async () => (await limiter.peek(ONE, user)).decidedBy === 'store',
  );
  expect(changes.map(({ available }) => available)).toEqual([false, true]);
});

it('the library needs no more rights on a Cluster than docs/redis.md grants', async () => {
  const admin = new Redis(server.url);
  const rights =
    'evalsha eval time get mget exists set del llen lindex rpush ltrim expireat pexpire info cluster|slots cluster|info';
  const granted = rights.split(' ').map((right) => `+${right}`);
  await admin.call('ACL', 'SETUSER', 'floodgate', 'on', '>secret', '~rl:*', '-@all', ...granted);
  await admin.call('ACL', 'LOG', 'RESET');
  const client = new Cluster([{ host: server.host, port: server.port }], {
    lazyConnect: true, // the module uses only a duplicate of it
    redisOptions: { username: 'floodgate', password: 'secret' },
  });
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: client, deadline: DEADLINE })],
  });
  const limiter = app.app.get(RateLimiter);
  const all: Policy = { ...DAILY, name: 'all', by: 'global' };
  const ada = { kind: 'user', value: 'ada' };
  expect(await limiter.consume([ONE, all], ada)).toMatchObject({ allowed: true, decidedBy: 'store' });
  expect(await limiter.consume([ONE, all], ada)).toMatchObject({ allowed: false, decidedBy: 'store' });
  await limiter.reset([ONE, all], ada);
  expect(await limiter.consume([ONE, all], ada)).toMatchObject({ allowed: true, decidedBy: 'store' });
  const denied = (await admin.call('ACL', 'LOG')) as string[][];
  // ioredis tries to name its connections, and goes on when the ACL forbids it.
  expect(denied.filter((entry) => !entry.includes('client|setname'))).toEqual([]);
  expect(app.logs.of('warn')).toEqual([]);
  admin.disconnect();
});
