import { Controller, Post } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import {
  type ConcurrencyPolicy,
  type Policy,
  RateLimit,
  RateLimitAdminModule,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  RedisStore,
  type StoreStateChange,
} from 'nestjs-floodgate';
import { clusterOfOne } from '../../support/faults/by-node.js';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { useFreshRedis } from '../support/fresh-redis.js';

/** What ioredis says to its own users. It names options that the module sets, or nothing that an operator knows. */
const FOREIGN =
  /writeable|enableOfflineQueue|max retries per request|maxRetriesPerRequest|Connection is closed|startup nodes|slots cache|Command aborted|undefined|\[object/i;

const MAIL: Policy = { name: 'mail', algorithm: 'fixed-window', limit: 100, window: '300d' };
const JOBS: ConcurrencyPolicy = { name: 'jobs', algorithm: 'concurrency', limit: 5, lease: '2s' };
const CLOSED: Policy = { ...MAIL, name: 'closed', onStoreFailure: 'closed' };
const ADA = { kind: 'user', value: 'ada' };
/** The first rounds fail at once, the later ones at an open breaker. */
const ROUNDS = 4;
const READY_MS = 20_000;

@Controller('mail')
class Mail {
  @Post()
  @RateLimit(CLOSED)
  send(): void {}
}

class Anybody {
  canActivate(): boolean {
    return true;
  }
}

const redis = useFreshRedis();
/** The server that goes away. */
let server: RedisServer;

beforeEach(() => {
  ({ server } = redis);
});
afterEach(() => server.stop());

async function aCluster(): Promise<Cluster> {
  server = await clusterOfOne();
  const addresses = [{ host: server.host, port: server.port }];
  return redis.quiet(new Cluster(addresses, { redisOptions: { disconnectTimeout: 50 } }));
}

/** The text of an error as far as the library has made it. */
function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

it.each<[string, () => RateLimitModuleOptions | Promise<RateLimitModuleOptions>]>([
  ['a URL', () => ({ redis: server.url })],
  ['a client', () => ({ redis: redis.quiet(new Redis(server.url)) })],
  [
    "the application's own client, which queues nothing",
    () => ({
      store: new RedisStore(redis.quiet(new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 }))),
    }),
  ],
  [
    "the application's own client, which gives up",
    () => ({
      store: new RedisStore(redis.quiet(new Redis(server.url, { maxRetriesPerRequest: 1, commandTimeout: 40 }))),
    }),
  ],
  ['a Cluster', async () => ({ redis: await aCluster() })],
])(
  'while Redis is away, no log line, event, exception or answer has the words of ioredis, with %s',
  async (_, given) => {
    const said: string[] = [];
    const options = await given();
    const events = options.store === undefined && {
      onStoreStateChange: (change: StoreStateChange) => void said.push(change.reason),
    };
    await using app = await start('Express', {
      imports: [
        RateLimitModule.forRoot({ ...options, ...events }),
        RateLimitAdminModule.register({ guards: [Anybody] }),
      ],
      controllers: [Mail],
    });
    const limiter = app.app.get(RateLimiter);
    const overrides = app.app.get(RateLimitOverrides);
    await until('the clients are connected', READY_MS, () => redis.clients.every(({ status }) => status === 'ready'));
    await until('Redis decides', READY_MS, async () => (await limiter.peek(MAIL, ADA)).decidedBy === 'store');
    const lease = await limiter.acquire(JOBS, ADA);
    const reservation = await limiter.reserve(MAIL, ADA, { cost: 5 });
    let failures = 0;
    const tell = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        const result = await work();
        const { error } = (result ?? {}) as { error?: unknown };
        if (error !== undefined) said.push(messageOf(error));
      } catch (error) {
        failures++;
        said.push(messageOf(error));
      }
    };
    // Some are under way when Redis goes.
    const early = Array.from({ length: 20 }, () => tell(() => limiter.consume(CLOSED, ADA)));
    await server.kill();
    await Promise.all(early);
    for (let i = 0; i < ROUNDS; i++) {
      await tell(() => limiter.consume(CLOSED, ADA));
      await tell(() => limiter.consume(MAIL, ADA));
      await tell(() => limiter.reset('mail', ADA));
      await tell(async () => said.push((await app.send('/mail', { method: 'POST' })).text));
    }
    // An operator's call waits longer for Redis.
    await tell(() => overrides.list());
    await tell(async () => said.push((await app.send('/admin/limits/overrides')).text));
    await tell(() => reservation.settle(3));
    lease.release();
    // A policy that is closed fails in each round.
    expect(failures).toBeGreaterThanOrEqual(ROUNDS);
    expect(said.filter((text) => FOREIGN.test(text))).toEqual([]);
    // The line at boot names the options in which a duplicate differs from its client.
    const lines = app.logs.lines.map(({ text }) => text).filter((text) => !text.startsWith('Limits are kept in Redis'));
    expect(lines.filter((text) => FOREIGN.test(text))).toEqual([]);
  },
);
