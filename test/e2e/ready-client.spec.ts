import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { type Identity, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { openRedis } from '../../libs/rate-limit/src/stores/redis/open-redis.js';
import { type HttpApp, start } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const POLICY: Policy = { name: 'mail', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ADA: Identity = { kind: 'user', value: 'ada' };

let server: RedisServer;
let client: Redis;
let observer: Redis;

beforeEach(async () => {
  server = await RedisServer.start();
  observer = quiet(new Redis(server.url));
});

afterEach(async () => {
  client.disconnect();
  observer.disconnect();
  await server.stop();
});

function quiet(redis: Redis): Redis {
  return redis.on('error', () => undefined);
}

/** An application with a client that has these options, and else the defaults of ioredis. */
async function withClient(options: RedisOptions = {}): Promise<HttpApp> {
  client = quiet(new Redis(server.url, options));
  await client.ping();
  return start('Express', { imports: [RateLimitModule.forRoot({ redis: client, onStoreFailure: 'open' })] });
}

/** The connections of Redis without the observer's. */
async function connections(): Promise<number> {
  const list = String(await observer.client('LIST'));
  return list.trim().split('\n').length - 1;
}

describe('a ready client with the defaults of ioredis', () => {
  it('is never asked, and queues nothing while Redis is killed', async () => {
    await using app = await withClient();
    const sent = jest.spyOn(client, 'sendCommand');
    const limiter = app.app.get(RateLimiter);
    const { commandQueue, offlineQueue } = client as unknown as Record<string, { length: number }>;
    expect(await limiter.consume(POLICY, ADA)).toMatchObject({ decidedBy: 'store' });
    await server.kill();
    for (let i = 0; i < 5; i++) expect(await limiter.consume(POLICY, ADA)).toMatchObject({ decidedBy: 'open' });
    expect([commandQueue?.length, offlineQueue?.length]).toEqual([0, 0]);
    await server.restart(); // without its data
    while ((await limiter.peek(POLICY, ADA)).decidedBy !== 'store') await nextTurn();
    // Redis does not learn later of the requests that passed meanwhile.
    expect(await limiter.peek(POLICY, ADA)).toMatchObject({ policies: [{ remaining: 3 }] });
    const names = sent.mock.calls.map(([command]) => command.name);
    expect(names.filter((name) => /eval|script|del/.test(name))).toEqual([]);
  });

  it('is duplicated, and boot names the options that differ', async () => {
    await using app = await withClient({ username: 'default', maxRetriesPerRequest: 0, commandTimeout: 77 });
    const said = app.logs.of('log').filter((line) => line.includes('on a duplicate of the client'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('autoResendUnfulfilledCommands: false');
    expect(said[0]).toContain('commandTimeout: undefined');
    expect(said[0]).toContain('retryStrategy');
    expect(said[0]).not.toMatch(/maxRetriesPerRequest|lazyConnect|username|password/);
  });

  it('is left open at close, and its duplicate is closed', async () => {
    await using app = await withClient();
    expect(await app.app.get(RateLimiter).consume(POLICY, ADA)).toMatchObject({ decidedBy: 'store' });
    expect(await connections()).toBe(2);
    await app.close();
    expect(await connections()).toBe(1);
    expect(client.status).toBe('ready');
    expect(await client.ping()).toBe('PONG');
  });
});

describe('the options of a ready client', () => {
  it('may read numbers as text: decisions have numbers nevertheless', async () => {
    await using app = await withClient({ stringNumbers: true });
    const limiter = app.app.get(RateLimiter);
    const [first] = (await limiter.consume(POLICY, ADA, { cost: 2 })).policies;
    expect(first).toMatchObject({ remaining: 1, limit: 3 });
    const rejected = await limiter.consume(POLICY, ADA, { cost: 2 });
    expect(rejected).toMatchObject({ allowed: false, decidedBy: 'store', delayMs: 0, policies: [{ remaining: 1 }] });
    expect(rejected.retryAfterMs).toBeGreaterThan(3_000_000);
    expect(rejected.retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  it('may prefix its keys: the keys of the limits have the prefix', async () => {
    await using app = await withClient({ keyPrefix: 'shop:' });
    const limiter = app.app.get(RateLimiter);
    expect(await limiter.consume(POLICY, ADA, { cost: 3 })).toMatchObject({ allowed: true, decidedBy: 'store' });
    expect(await observer.keys('*')).toEqual([expect.stringMatching(/^shop:rl:\{user:ada\}:/)]);
    await limiter.reset(POLICY, ADA);
    expect(await observer.keys('*')).toEqual([]);
  });

  it('may choose a database: the limits use it', async () => {
    await using app = await withClient({ db: 3 });
    expect(await app.app.get(RateLimiter).consume(POLICY, ADA)).toMatchObject({ decidedBy: 'store' });
    expect(await observer.dbsize()).toBe(0);
    expect(await client.dbsize()).toBe(1);
  });
});

it('ioredis options of the module hold, except for those that promises rest on', async () => {
  const given = {
    connectTimeout: 5000,
    retryStrategy: () => 7,
    autoResendUnfulfilledCommands: true,
    maxRetriesPerRequest: 9,
  };
  const { client: opened } = await openRedis(given);
  const { options } = opened as Redis;
  expect(options).toMatchObject({ connectTimeout: 5000 });
  expect([1, 100].map((attempt) => options.retryStrategy?.(attempt))).toEqual([7, 7]);
  expect(options).toMatchObject({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, lazyConnect: true });
});
