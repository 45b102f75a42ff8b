import { inspect } from 'node:util';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import {
  createLimiter,
  type Identity,
  identityTag,
  type LimiterOptions,
  MemoryStore,
  RateLimit,
  RateLimitAdminModule,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { ADMIN_DESK } from '../../../libs/nest/src/admin/admin-controller.js';
import type { AdminDesk } from '../../../libs/nest/src/admin/admin-desk.js';
import { until } from '../../support/faults/until.js';
import { CapturedLogs, FROM_HEADERS, type HttpApp, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { GUARDED } from '../support/admin-service.js';

const OLD = 'an old secret, of more than 32 bytes';
const NEW = 'a newer secret, of more than 32 bytes';

const ADA = { kind: 'user', value: 'ada@example.com' };
const BOB = { kind: 'user', value: 'bob' };
const KEY = { kind: 'api-key', value: 'sk_live_0123456789' };
const ADDRESS = { kind: 'ip', value: '203.0.113.9' };
const LONG = { kind: 'user', value: `${'carol.'.repeat(12)}@example.com` };
/** What stands in Redis without a secret: short identities, and hashes of long ones and of API keys, which a list of them opens. */
const SHOWN = ['ada@', 'user:bob', 'ip:203.0.113.9', ...[KEY, LONG].map((one) => identityTag(one).split('#')[1]!)];
const NEVER = ['sk_live', 'carol'];

const YEAR = { algorithm: 'fixed-window', window: '300d' } as const;
const BUCKET = { algorithm: 'token-bucket', refill: '1/h' } as const;

@Controller()
class Routes {
  @Get('address')
  @RateLimit({ ...YEAR, name: 'address', limit: 2, by: 'ip', blockFor: '1h' })
  address(): void {}

  @Get('client')
  @RateLimit(
    { ...BUCKET, name: 'client', capacity: 6, plans: { pro: { capacity: 9 } } },
    { name: 'log', algorithm: 'sliding-window-log', limit: 8, window: '1d' },
    { ...YEAR, name: 'all', limit: 1000, by: 'global' },
  )
  client(): void {}

  @Get('else')
  @RateLimit({ ...YEAR, name: 'own', limit: 1, else: 'credit' })
  spill(): void {}

  @Get('prefetch')
  @RateLimit({ ...BUCKET, name: 'prefetched', capacity: 100, prefetch: { max: 5, for: '1m' } })
  prefetched(): void {}

  @Get('shards')
  @RateLimit({ ...BUCKET, name: 'shards', capacity: 30, by: 'global', shards: 3 })
  shards(): void {}

  @Get('settled')
  @RateLimit({ ...YEAR, name: 'settled', limit: 10, cost: 4, settle: () => 1, expires: '1h', atExpiry: 1 })
  settled(): void {}
}

const POLICIES = {
  calls: { ...YEAR, limit: 5 },
  credit: { ...YEAR, limit: 1 },
  places: { algorithm: 'concurrency', limit: 2, lease: '1h' },
  slots: { algorithm: 'leaky-bucket', capacity: 3, drain: '1/s' },
} as const;

type Secret = LimiterOptions['identitySecret'];

const redis = useRedis();

/** A pod over Redis, or with a store of its own. */
function open(store: 'Redis' | 'memory', identitySecret?: Secret): Promise<HttpApp> {
  return start(
    'Express',
    {
      imports: [
        RateLimitModule.forRoot({
          ...(store === 'Redis' ? { redis: redis.server.url, deadline: '10s' } : { store: new MemoryStore() }),
          ...(identitySecret !== undefined && { identitySecret }),
          identity: FROM_HEADERS,
          policies: POLICIES,
          plan: {
            resolve: ({ headers }: RateLimitRequest<{ headers: Record<string, string> }>) =>
              headers['x-user-id']?.startsWith('ada') === true ? 'pro' : undefined,
            timeout: '10s',
          },
        }),
        RateLimitAdminModule.register(GUARDED),
      ],
      controllers: [Routes],
    },
    { trustProxy: 1 },
  );
}

const deskOf = (http: HttpApp): AdminDesk => http.app.get<AdminDesk>(ADMIN_DESK, { strict: false });

const headersOf = ({ kind, value }: Identity): Record<string, string> =>
  ({
    user: { 'X-User-Id': String(value) },
    'api-key': { 'X-API-Key': String(value) },
    ip: { 'X-Forwarded-For': String(value) },
  })[kind as 'user' | 'api-key' | 'ip'];

/** What requests, calls and operators are answered, apart from times and versions. */
async function play(http: HttpApp): Promise<unknown> {
  const limiter = http.app.get(RateLimiter);
  const overrides = http.app.get(RateLimitOverrides);
  const seen: unknown[] = [];
  for (const identity of [ADA, BOB, KEY, ADDRESS, LONG]) {
    for (const path of [
      'address',
      'client',
      'client',
      'else',
      'else',
      'else',
      'prefetch',
      'shards',
      'settled',
      'settled',
    ]) {
      const { status, headers } = await http.send(`/${path}`, { headers: headersOf(identity) });
      seen.push([path, status, headers['x-ratelimit-limit'], path === 'settled' || headers['x-ratelimit-remaining']]);
    }
    seen.push((await limiter.consume('calls', identity, { cost: 2 })).policies[0]!.remaining);
    const reservation = await limiter.reserve('calls', identity, { expires: '1h', atExpiry: 0, cost: 2 });
    seen.push(reservation.decision.allowed, (await limiter.consume('calls', identity, { cost: 2 })).allowed);
    await reservation.settle(1);
    const lease = await limiter.acquire('places', identity);
    seen.push((await limiter.peek('places', identity)).policies[0]!.remaining);
    lease.release();
    seen.push(
      await limiter.schedule('slots', identity, () => 'ran'),
      await limiter.pause('slots', identity, { for: '1h' }),
    );
  }
  const target = { policy: 'client', identity: ADA };
  await overrides.set(target, { capacity: 3 }, { reason: 'for ada@example.com', author: 'eve' });
  await overrides.set({ policy: 'client', identity: 'user:bob' }, { blocked: true }, { expiresIn: '1d' });
  await overrides.set({ policy: 'log', identity: KEY }, { exempt: true });
  await overrides.set({ policy: 'all' }, { limit: 900 });
  for (const identity of [ADA, BOB, KEY]) {
    const { status, headers } = await http.send('/client', { headers: headersOf(identity) });
    seen.push([status, headers['x-ratelimit-limit']]);
    const { identity: tag, isRejected, policies } = await limiter.explain('GET /client', identity);
    seen.push(
      tag,
      isRejected,
      policies.map((one) => [one.policy, one.outcome, one.override?.reason, one.level?.remaining]),
    );
  }
  seen.push((await overrides.get(target))!.change, await overrides.get({ policy: 'client', identity: ADDRESS }));
  seen.push((await overrides.list()).items.map(({ identity, policy, reason }) => [identity, policy, reason]));
  seen.push(
    await overrides.remove({ policy: 'log', identity: identityTag(KEY) }),
    await overrides.remove(target, { author: 'eve' }),
  );
  seen.push((await overrides.history(target)).items.map(({ action, identity, author }) => [action, identity, author]));
  await limiter.planChanged(ADA);
  await deskOf(http).rejections.share();
  seen.push(
    (await limiter.reset('calls', ADA)).map(({ found }) => found),
    (await limiter.peek('calls', ADA)).policies[0]!.remaining,
  );
  seen.push((await limiter.reset('GET /address', ADDRESS)).map(({ found }) => found));
  seen.push((await http.send('/address', { headers: headersOf(ADDRESS) })).status);
  return seen;
}

/** The keys of Redis, and all that stands in them. */
async function everything(client: Redis): Promise<{ readonly keys: readonly string[]; readonly texts: string }> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, some] = await client.scan(cursor);
    keys.push(...some);
    cursor = next;
  } while (cursor !== '0');
  const read: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    string: (key) => client.get(key),
    hash: (key) => client.hgetall(key),
    zset: (key) => client.zrange(key, '0', '-1'),
    list: (key) => client.lrange(key, 0, -1),
    set: (key) => client.smembers(key),
    stream: (key) => client.xrange(key, '-', '+'),
  };
  const values = await Promise.all(keys.map(async (key) => read[await client.type(key)]!(key)));
  return { keys, texts: JSON.stringify([keys, values]) };
}

describe.each(['memory', 'Redis'] as const)('identities under a secret, over %s', (store) => {
  it('are decided, shown and changed as those without one', async () => {
    const played = async (secret?: Secret): Promise<unknown> => {
      await redis.client.flushdb();
      await using http = await open(store, secret);
      return { seen: await play(http), warned: http.logs.of('warn') };
    };
    expect(await played(NEW)).toEqual(await played());
  });
});

describe('in Redis', () => {
  it('stand identities without a secret, and none under one', async () => {
    const found: Record<string, readonly string[]> = {};
    for (const secret of [undefined, NEW]) {
      await redis.client.flushdb();
      await using http = await open('Redis', secret);
      await play(http);
      const { keys, texts } = await everything(redis.client);
      expect(keys.length).toBeGreaterThan(50);
      found[secret ?? 'none'] = [...SHOWN, ...NEVER].filter((text) => texts.includes(text));
    }
    expect(found).toEqual({ none: SHOWN, [NEW]: [] });
  });
});

describe('messages and logs', () => {
  /** Each in the place of an identity, or of a part of one. */
  const WRONG: readonly unknown[] = [
    'carol-7f3',
    'ip:carol-7f3',
    'usr:carol-7f3',
    'key:carol-7f3',
    `user:${'carol-7f3'.repeat(30)}`,
    { kind: 'Carol-7f3', value: 1 },
    { kind: 'carol-7f3@example.com', value: 1 },
    { kind: 'ip', value: 'carol-7f3' },
    { kind: 'user', value: { toString: () => 'carol-7f3' } },
    { kind: 'user', value: Symbol('carol-7f3') },
    ['carol-7f3'],
    Symbol('carol-7f3'),
    () => 'carol-7f3',
  ];
  const NAMED = { policy: 'client', identity: 'user:carol-7f3' };

  it('name no identity, whatever is wrong', async () => {
    await redis.client.flushdb();
    await using http = await open('Redis', NEW);
    const limiter = http.app.get(RateLimiter);
    const overrides = http.app.get(RateLimitOverrides);
    const calls: (() => Promise<unknown>)[] = WRONG.map((one) => one as Identity).flatMap((identity) => [
      () => limiter.consume('calls', identity),
      () => limiter.acquire('places', identity),
      () => limiter.reset('GET /client', identity),
      () => limiter.explain('GET /client', identity),
      () => limiter.planChanged(identity),
      () => overrides.set({ policy: 'client', identity }, { blocked: true }),
      () => overrides.get({ policy: '', identity }),
    ]);
    const { version } = await overrides.set(NAMED, { capacity: 3 });
    calls.push(
      () => overrides.set(NAMED, { capacity: 4 }, { ifVersion: version + 1 }),
      () => overrides.remove(NAMED, { ifVersion: 0 }),
      () => overrides.remove(NAMED, { reason: 'for carol-7f3 '.repeat(50) }),
      () => overrides.set(NAMED, { capacity: 4 }, { author: 'carol-7f3 '.repeat(50) }),
      () => overrides.set({ ...NAMED, policy: 'address' }, { limit: 1 }),
      () => limiter.consume('calls', NAMED.identity as unknown as Identity, { cost: -1 }),
      () => limiter.explain(NAMED.identity, NAMED.identity),
      () => limiter.consume({ kind: 'user', value: 'carol-7f3' } as unknown as 'calls', ADA),
    );
    const failed = async (call: () => Promise<unknown>): Promise<unknown> => call().catch((error: unknown) => error);
    const errors = await Promise.all(calls.map(failed));
    await redis.client.set('rl:{overrides}:records', 'of another program');
    errors.push(await failed(() => overrides.get(NAMED)), await failed(() => overrides.set(NAMED, { capacity: 5 })));
    for (const error of errors) expect(error).toBeInstanceOf(Error);
    const texts = [...errors.map((error) => inspect(error, { depth: 9 })), http.logs.text];
    expect(texts.filter((text) => /carol-7f3/i.test(text))).toEqual([]);
  });
});

describe('a new secret', () => {
  const fleetOf = async (http: HttpApp): Promise<unknown> => (await deskOf(http).rejections.fleet()).processes;
  const limitFor = async (http: HttpApp, identity: Identity): Promise<unknown> =>
    (await http.send('/client', { headers: headersOf(identity) })).headers['x-ratelimit-limit'];

  it('begins counters anew, and keeps overrides, reports and changed plans', async () => {
    {
      await using bare = await open('Redis');
      const overrides = bare.app.get(RateLimitOverrides);
      await overrides.set({ policy: 'client', identity: BOB }, { capacity: 3 });
      await overrides.set({ policy: 'client', identity: LONG }, { capacity: 4 });
    }
    {
      await using old = await open('Redis', OLD);
      expect(await limitFor(old, BOB)).toBe('3');
      await old.app
        .get(RateLimitOverrides)
        .set({ policy: 'client', identity: BOB }, { capacity: 2 }, { reason: 'abuse' });
      for (let i = 0; i < 3; i++) await old.send('/address', { headers: headersOf(ADDRESS) });
      await deskOf(old).rejections.share();
    }

    await using both = await open('Redis', [NEW, OLD]);
    expect([await limitFor(both, BOB), await limitFor(both, LONG), await fleetOf(both)]).toEqual(['2', '4', 2]);
    const address = { headers: headersOf(ADDRESS) };
    expect(await both.statuses(3, '/address', address)).toEqual([200, 200, 429]);
    // What docs/identity.md says of the end of a rotation.
    const overrides = both.app.get(RateLimitOverrides);
    let page = await overrides.list({ limit: 1 });
    const all = [...page.items];
    while (page.cursor !== undefined) {
      page = await overrides.list({ limit: 1, cursor: page.cursor });
      all.push(...page.items);
    }
    expect(all.map(({ identity }) => identity)).toEqual([identityTag(LONG), 'user:bob']);
    for (const one of all) {
      const { policy, identity, scope, change, reason, author } = one;
      const left = (one.expiresAtMs ?? Infinity) - Date.now();
      const expiresIn = left === Infinity ? undefined : Math.max(1000, left);
      await overrides.set({ policy, identity, scope }, change, { expiresIn, reason, author });
    }

    await using renewed = await open('Redis', NEW);
    expect([await limitFor(renewed, BOB), await limitFor(renewed, LONG)]).toEqual(['2', '4']);
    expect(await renewed.statuses(1, '/address', address)).toEqual([429]);
    expect(renewed.logs.of('warn')).toEqual([]);
    expect(await renewed.app.get(RateLimitOverrides).get({ policy: 'client', identity: BOB })).toMatchObject({
      reason: 'abuse',
    });
    expect(JSON.stringify(await redis.client.hgetall('rl:{overrides}:records'))).not.toContain('user:bob');
  });

  it('is told by a warning where other processes have written overrides under another one', async () => {
    await using old = await open('Redis', OLD);
    await old.app.get(RateLimitOverrides).set({ policy: 'client', identity: BOB }, { capacity: 2 });
    await using other = await open('Redis', NEW);
    expect(await limitFor(other, BOB)).toBe('6');
    expect(other.logs.of('warn')).toEqual([
      expect.stringMatching(
        /^The override of version \d+ is not in force here: .* or one with another identitySecret RateLimit$/,
      ),
    ]);
  });

  it('lets processes that hear of a changed plan ask anew', async () => {
    await using first = await open('Redis', OLD);
    await using second = await open('Redis', [NEW, OLD]);
    await using bare = await open('Redis');
    const forgotten = jest.spyOn(second.app.get(RateLimiter)['plans'], 'heard');
    const all = jest.spyOn(bare.app.get(RateLimiter)['plans']['plans']!, 'forget');
    await first.app.get(RateLimiter).planChanged(ADA);
    await until('it is heard', 20_000, () => forgotten.mock.calls.length + all.mock.calls.length > 1);
    // A process that cannot read it forgets all plans.
    expect([forgotten.mock.calls, all.mock.calls]).toEqual([[['user:ada@example.com']], [[undefined]]]);
  });
});

describe('a wrong secret stops the boot, and is not shown', () => {
  const logger = new CapturedLogs();
  it.each<[string, unknown]>([
    ['got a text of 6 bytes (different characters: 5)', 'secret'],
    ['got a text of 31 bytes (different characters: 8)', 'abcdefgh'.repeat(4).slice(1)],
    ['got a text of 32 bytes (different characters: 1)', ' '.repeat(32)],
    ['got a text of 35 bytes (different characters: 7)', 'change '.repeat(5)],
    ['(different characters: 19) and a text of 3 bytes (different characters: 3)', [OLD, 'old']],
    ['(different characters: 19) and a text of 36 bytes (different characters: 19)', [OLD, OLD]],
    ['(different characters: 19) and a text of 32 bytes (different characters: 1)', [OLD, ' '.repeat(32)]],
    ['got an array of', []],
    ['got an array of undefined', Object.assign([], { length: 1 })],
    ['got a value of type object', Buffer.alloc(32)],
    ['identitySecret is given, and undefined: is the variable set?', undefined],
  ])('%s', async (text, identitySecret) => {
    const opened = createLimiter({ store: new MemoryStore(), logger, identitySecret } as LimiterOptions);
    await expect(opened).rejects.toThrow(text);
    await expect(opened).rejects.not.toThrow(/abcd|change|old secret|'secret'/);
  });

  it('also where the options are a class with getters', async () => {
    class Options implements LimiterOptions {
      readonly store = new MemoryStore();
      readonly logger = logger;

      get identitySecret(): string | undefined {
        return undefined;
      }
    }
    await expect(createLimiter(new Options())).rejects.toThrow('identitySecret is given, and undefined');
  });

  it('nor is a right one, by the limiter and what it holds', async () => {
    const limiter = await createLimiter({ redis: redis.server.url, identitySecret: [NEW, OLD], policies: POLICIES });
    await limiter.start();
    await limiter.consume('calls', ADA);
    expect(inspect(limiter, { depth: Infinity, showHidden: true })).not.toMatch(/secret, of|redis:\/\//);
    await limiter.close();
  });

  it('nor by what Nest injects', async () => {
    await using http = await open('Redis', NEW);
    for (const token of [RateLimiter, RateLimitOverrides, RateLimitGuard]) {
      expect(inspect(http.app.get<object>(token), { depth: 4 })).not.toMatch(/secret, of|redis:\/\//);
    }
  });

  it('one without a store is without effect, and boot says so', async () => {
    const lines = new CapturedLogs();
    await using limiter = await createLimiter({ logger: lines, identitySecret: NEW }).then(async (made) => {
      await made.start();
      return Object.assign(made, { [Symbol.asyncDispose]: () => made.close() });
    });
    expect(limiter.stats().requests).toBeDefined();
    expect(lines.of('log')).toEqual([expect.stringContaining('identitySecret needs Redis')]);
  });
});
