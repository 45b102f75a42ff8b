import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { type Identity, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { type HttpApp, start } from '../../support/http-app.js';
import { useFreshRedis } from '../support/fresh-redis.js';

const RECOVERY_MS = 20_000;
const POLICY: Policy = { name: 'mail', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ADA: Identity = { kind: 'user', value: 'ada' };

const redis = useFreshRedis();
let client: Redis;
let observer: Redis;

beforeEach(() => {
  observer = redis.quiet(new Redis(redis.server.url));
});

/** Starts an application on a client with the defaults of ioredis, except for these options. */
async function handedIn(options: RedisOptions = {}): Promise<HttpApp> {
  client = redis.quiet(new Redis(redis.server.url, options));
  await client.ping();
  return start('Express', {
    imports: [RateLimitModule.forRoot({ redis: client, onStoreFailure: 'open', deadline: '2s' })],
  });
}

describe('a ready client with the defaults of ioredis', () => {
  it('gets no command of the limiter, and queues none while Redis is gone', async () => {
    await using app = await handedIn();
    const sent = jest.spyOn(client, 'sendCommand');
    const limiter = app.app.get(RateLimiter);
    const { commandQueue, offlineQueue } = client as unknown as Record<string, { length: number }>;
    expect(await limiter.consume(POLICY, ADA)).toMatchObject({ decidedBy: 'store' });
    await redis.server.kill();
    for (let i = 0; i < 5; i++) expect(await limiter.consume(POLICY, ADA)).toMatchObject({ decidedBy: 'open' });
    expect([commandQueue?.length, offlineQueue?.length]).toEqual([0, 0]);
    await redis.server.restart(); // without its data
    await until(
      'Redis decides again',
      RECOVERY_MS,
      async () => (await limiter.peek(POLICY, ADA)).decidedBy === 'store',
    );
    // The requests that passed meanwhile are not counted later.
    expect(await limiter.peek(POLICY, ADA)).toMatchObject({ policies: [{ remaining: 3 }] });
    const names = sent.mock.calls.map(([command]) => command.name);
    expect(names.filter((name) => /eval|script|del/.test(name))).toEqual([]);
  });

  it('is duplicated, and boot logs which options of the duplicate differ', async () => {
    await using app = await handedIn({ username: 'default', maxRetriesPerRequest: 0, commandTimeout: 77 });
    const lines = app.logs.of('log').filter((line) => line.includes('on a duplicate of the client'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('autoResendUnfulfilledCommands: false');
    expect(lines[0]).toContain('commandTimeout: undefined');
    expect(lines[0]).toContain('retryStrategy');
    expect(lines[0]).not.toMatch(/maxRetriesPerRequest|lazyConnect|username|password|[sS]entinel|failover/);
  });
});

describe('the options of a ready client', () => {
  it('may read numbers as text, and decisions still have numbers', async () => {
    await using app = await handedIn({ stringNumbers: true });
    const limiter = app.app.get(RateLimiter);
    const [first] = (await limiter.consume(POLICY, ADA, { cost: 2 })).policies;
    expect(first).toMatchObject({ remaining: 1, limit: 3 });
    const rejected = await limiter.consume(POLICY, ADA, { cost: 2 });
    expect(rejected).toMatchObject({ allowed: false, decidedBy: 'store', delayMs: 0, policies: [{ remaining: 1 }] });
    expect(rejected.retryAfterMs).toBeGreaterThan(3_000_000);
    expect(rejected.retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  it('may prefix its keys, and the keys of limits get the prefix', async () => {
    await using app = await handedIn({ keyPrefix: 'shop:' });
    const limiter = app.app.get(RateLimiter);
    expect(await limiter.consume(POLICY, ADA, { cost: 3 })).toMatchObject({ allowed: true, decidedBy: 'store' });
    expect(await observer.keys('*')).toEqual([expect.stringMatching(/^shop:rl:\{user:ada\}:/)]);
    await limiter.reset(POLICY, ADA);
    expect(await observer.keys('*')).toEqual([]);
  });
});
