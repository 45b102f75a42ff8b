import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { createClient, createSentinel } from 'redis';
import { type HttpApp, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

const redis = useRedis();
const POLICY = { name: 'rides', algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const;
const ADA = { kind: 'user', value: 'ada' };

const opened: { destroy(): unknown }[] = [];
function client(options: Parameters<typeof createClient>[0] = {}): ReturnType<typeof createClient> {
  const made = createClient({ url: redis.server.url, ...options }) as ReturnType<typeof createClient>;
  made.on('error', () => undefined);
  opened.push(made);
  return made;
}

afterEach(() => {
  for (const one of opened.splice(0)) {
    try {
      one.destroy();
    } catch {
      // It was not open.
    }
  }
});

async function boot(options: RateLimitModuleOptions): Promise<HttpApp> {
  return start('Express', { imports: [RateLimitModule.forRoot({ connect: 'required', deadline: '10s', ...options })] });
}

/** The deciders of four requests, of which three pass. */
async function fourOf(app: HttpApp): Promise<string[]> {
  const limiter = app.app.get(RateLimiter);
  const decisions = [];
  for (let i = 0; i < 4; i++) decisions.push(await limiter.consume(POLICY, ADA));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
  return decisions.slice(0, 3).map(({ decidedBy }) => decidedBy);
}

const STORE = ['store', 'store', 'store'];

describe('a client of node-redis', () => {
  it.each([2, 3] as const)('decides with RESP%i', async (RESP) => {
    await using app = await boot({ redis: client({ RESP }) });
    expect(await fourOf(app)).toEqual(STORE);
    expect(app.logs.of('log').find((line) => line.startsWith('Limits are kept'))).toMatch(
      /on a duplicate of the client that was given, which differs in disableOfflineQueue: true(?!,)/,
    );
  });

  it('names at boot each option that its duplicate does not take', async () => {
    const given = {
      disableOfflineQueue: true,
      pingInterval: 1_000,
      readonly: true,
      socket: { socketTimeout: 60_000, connectTimeout: 1_000, reconnectStrategy: () => 10 },
    };
    await using app = await boot({ redis: client(given) });
    expect(app.logs.of('log').find((line) => line.startsWith('Limits are kept'))).toMatch(
      /which differs in pingInterval: undefined, readonly: undefined, socketTimeout: undefined(?!,)/,
    );
  });

  it('is neither connected, nor closed, nor changed', async () => {
    const idle = client();
    const used = await client({ commandOptions: { typeMapping: { 58: String } } }).connect();
    const before = { ...used.options };
    for (const one of [idle, used]) {
      const app = await boot({ redis: one });
      await app.close();
    }
    expect(idle.isOpen).toBe(false);
    expect(used.isReady).toBe(true);
    expect({ ...used.options }).toEqual(before);
    expect(await used.incr('mine')).toBe('1'); // its type mapping
  });

  it('keeps database and key prefix', async () => {
    await using app = await boot({ redis: client({ database: 3, keyPrefix: 'shop:' }) });
    expect(await fourOf(app)).toEqual(STORE);
    await redis.client.select(3);
    const keys = await redis.client.keys('*');
    await redis.client.flushdb();
    await redis.client.select(0);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !key.startsWith('shop:rl:'))).toEqual([]);
  });

  it('without duplicate, such as a pool, is used as it is, and boot says so', async () => {
    const pool = client().createPool();
    pool.on('error', () => undefined);
    await pool.connect();
    const app = await boot({ redis: pool });
    expect(await fourOf(app)).toEqual(STORE);
    expect(app.logs.of('log').join('\n')).toContain('on the client that was given, which has no duplicate()');
    await app.close();
    expect(await pool.ping()).toBe('PONG');
    await pool.close();
  });
});

it('a createSentinel of version 5, which has no duplicate, stops the boot', async () => {
  const options = { name: 'limits', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] };
  const sentinel = Object.assign(createSentinel(options), { duplicate: undefined });
  await expect(boot({ redis: sentinel })).rejects.toThrow(
    'A createSentinel of version 5 has no duplicate(): npm install redis@latest, or give ioredis options',
  );
});

it('a URL names at boot the package that opens it', async () => {
  await using app = await boot({ redis: redis.server.url });
  expect(app.logs.of('log').join('\n')).toContain('ioredis opens the URL');
});
