import { createServer, type Server } from 'node:net';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { type Policy, RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { clusterOfOne } from '../../support/faults/by-node.js';
import { until } from '../../support/faults/until.js';
import { type HttpApp, start } from '../../support/http-app.js';
import { randomPort, RedisServer } from '../../support/redis-server.js';
import { useFreshRedis } from '../support/fresh-redis.js';

const POLICY: Policy = { name: 'mail', algorithm: 'fixed-window', limit: 3, window: '300d' };
const ADA = { kind: 'user', value: 'ada' };
const READY_MS = 10_000;

const redis = useFreshRedis();
let observer: Redis;

beforeEach(() => {
  observer = redis.quiet(new Redis(redis.server.url));
});

const boot = (options: RateLimitModuleOptions): Promise<HttpApp> =>
  start('Express', { imports: [RateLimitModule.forRoot({ deadline: '10s', ...options })] });

async function expectDecided({ app }: HttpApp): Promise<void> {
  expect(await app.get(RateLimiter).consume(POLICY, ADA)).toMatchObject({ decidedBy: 'store' });
}

/** A client without `duplicate()`. */
function bare(client: Redis): NonNullable<RateLimitModuleOptions['redis']> {
  const [evalsha, evaluate, del] = [client.evalsha.bind(client), client.eval.bind(client), client.del.bind(client)];
  return { evalsha, eval: evaluate, del };
}

/** Connections of the module: neither the observer's nor those of clients that a test has made. */
async function connections(own: number): Promise<number> {
  const list = String(await observer.client('LIST'));
  return list.trim().split('\n').length - 1 - own;
}

describe('a database that is not there', () => {
  it.each<[string, () => RateLimitModuleOptions, string, number]>([
    [
      'in a URL',
      () => ({ redis: `${redis.server.url}/99` }),
      'Redis refuses database 99: ERR DB index is out of range',
      0,
    ],
    ['in a path that may be a part of a password', () => ({ redis: 'redis://user:12/s3cret@localhost' }), '%2F', 0],
    ['that is no number', () => ({ redis: `${redis.server.url}/limits` }), 'must be the number of a database', 0],
  ])('%s stops the boot', async (_, options, problem, own) => {
    for (const connect of [undefined, 'required'] as const) {
      const message = await boot({ ...options(), ...(connect && { connect }) }).then(
        () => 'booted',
        (error: Error) => error.message,
      );
      expect(message).toContain('RateLimitModule, redis: ');
      expect(message).toContain(problem);
      expect(message).toContain('fg_redis_database');
      expect(message).not.toContain('s3cret');
    }
    expect(await observer.dbsize()).toBe(0);
    await until('the module has closed its connections', READY_MS, async () => (await connections(2 * own)) <= 0);
  });

  it('needs the right +select', async () => {
    await observer.call('ACL', 'SETUSER', 'clerk', 'on', '>pw', '~*', '+@all', '-select');
    const url = `redis://clerk:pw@${redis.server.host}:${redis.server.port}/1`;
    await expect(boot({ redis: url })).rejects.toThrow('Redis refuses database 1: NOPERM');
    await using app = await boot({ redis: `redis://clerk:pw@${redis.server.host}:${redis.server.port}/0` });
    await expectDecided(app);
  });

  it('while Redis is away at boot: no key lands in database 0 later, and the log says why', async () => {
    const port = randomPort();
    await using app = await boot({ redis: `redis://127.0.0.1:${port}/9` });
    const limiter = app.app.get(RateLimiter);
    await using late = await RedisServer.start({ port, args: ['--databases', '2'] });
    await until('the log names the database', READY_MS, async () => app.logs.text.includes('Redis refuses database 9'));
    for (let i = 0; i < 20; i++) {
      expect(await limiter.consume(POLICY, ADA)).toMatchObject({ decidedBy: 'local' });
    }
    const there = redis.quiet(new Redis(late.url));
    expect(await there.dbsize()).toBe(0);
    const warnings = app.logs.of('warn').filter((line) => line.includes('Redis refuses database 9'));
    expect(warnings).toHaveLength(1);
  });
});

/** Accepts connections, and answers nothing. */
async function silentServer(): Promise<{ port: number; server: Server }> {
  const silent = createServer((socket) => void socket.resume().on('error', () => undefined));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  return { port: (silent.address() as { port: number }).port, server: silent };
}

describe("connect: 'required'", () => {
  const secured = async (): Promise<void> => {
    await observer.call('ACL', 'SETUSER', 'clerk', 'on', '>pw', '~*', '-@all', '+info', '+ping');
    await observer.call('ACL', 'SETUSER', 'other', 'on', '>pw', '~other:*', '+@all');
  };
  const urlOf = (who: string): string => `redis://${who}${redis.server.host}:${redis.server.port}`;

  it.each<[string, () => RateLimitModuleOptions | Promise<RateLimitModuleOptions>, RegExp]>([
    ['nothing listens there', () => ({ redis: `redis://127.0.0.1:${randomPort()}` }), /connect ECONNREFUSED/],
    ['the name is unknown', () => ({ redis: 'redis://redis.invalid' }), /ENOTFOUND|EAI_AGAIN/],
    ['the password is wrong', () => ({ redis: urlOf('clerk:wrong@') }), /WRONGPASS/],
    ['the user may not run scripts', () => ({ redis: urlOf('clerk:pw@') }), /NOPERM/],
    [
      'it wants a password, and none is given',
      async () => {
        await observer.call('CONFIG', 'SET', 'requirepass', 'secret');
        return { redis: redis.server.url };
      },
      /NOAUTH/,
    ],
    [
      'it is a replica',
      async () => {
        await observer.call('REPLICAOF', '127.0.0.1', String(randomPort()));
        await observer.call('CONFIG', 'SET', 'replica-serve-stale-data', 'yes');
        return { redis: redis.server.url };
      },
      /READONLY/,
    ],
    [
      'it has no memory left',
      async () => {
        await observer.call('CONFIG', 'SET', 'maxmemory', '1');
        return { redis: redis.server.url };
      },
      /OOM/,
    ],
    [
      'a client has no duplicate(), and no connection',
      () => ({ redis: bare(redis.quiet(new Redis(randomPort(), '127.0.0.1', { enableOfflineQueue: false }))) }),
      /there is no connection to Redis/,
    ],
    [
      'a Cluster is nowhere',
      () => ({
        redis: redis.quiet(
          new Cluster([{ host: '127.0.0.1', port: randomPort() }], { redisOptions: { disconnectTimeout: 50 } }),
        ),
      }),
      /ECONNREFUSED|no node of the Redis Cluster/,
    ],
    ['redis is empty', () => ({ redis: '' }), /redis is empty/],
    ['redis is missing', () => ({}), /redis is missing/],
  ])('stops the boot where %s', async (_, options, problem) => {
    await secured();
    const message = await boot({ ...(await options()), connect: 'required' }).then(
      (app) => app.close(),
      (error: Error) => error.message,
    );
    expect(message).toMatch(problem);
    expect(message).toMatch(/^RateLimitModule/);
    expect(message).toContain('fg_redis_required');
    expect(message).not.toMatch(/writeable|enableOfflineQueue|max retries|:pw@|:wrong@/);
  });

  it('stops the boot where the server answers nothing', async () => {
    const silent = await silentServer();
    const address = { host: '127.0.0.1', port: silent.port, connectTimeout: 500 };
    await expect(boot({ redis: address, connect: 'required' })).rejects.toThrow(
      'Redis cannot decide: Redis did not answer',
    );
    await new Promise((resolve) => silent.server.close(resolve)); // its connections are closed
  });

  it('starts and stops with a Cluster', async () => {
    await using node = await clusterOfOne();
    const direct = redis.quiet(new Redis(node.url));
    const cluster = (): Cluster => redis.quiet(new Cluster([{ host: node.host, port: node.port }]));
    await using app = await boot({ redis: cluster(), connect: 'required' });
    await expectDecided(app);
    await direct.call('CONFIG', 'SET', 'maxmemory', '1');
    await expect(boot({ redis: cluster(), connect: 'required' })).rejects.toThrow(`node 127.0.0.1:${node.port}: OOM`);
  });
});
