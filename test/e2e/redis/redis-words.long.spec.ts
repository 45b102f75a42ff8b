import { Controller, Post } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
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
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(60_000); // the test runs in real time, and the machine may be busy

/** What ioredis says to its own users. It names options that the module sets, or nothing that an operator knows. */
const FOREIGN =
  /writeable|enableOfflineQueue|max retries per request|maxRetriesPerRequest|Connection is closed|startup nodes|slots cache|Command aborted|undefined|\[object/i;

const MAIL: Policy = { name: 'mail', algorithm: 'fixed-window', limit: 100, window: '300d' };
const JOBS: ConcurrencyPolicy = { name: 'jobs', algorithm: 'concurrency', limit: 5, lease: '2s' };
const CLOSED: Policy = { ...MAIL, name: 'closed', onStoreFailure: 'closed' };
const ADA = { kind: 'user', value: 'ada' };
const KILLED_MS = 1500;

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

let server: RedisServer;
let clients: (Redis | Cluster)[];

beforeEach(async () => {
  server = await RedisServer.start();
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

function quiet<T extends Redis | Cluster>(client: T): T {
  clients.push(client);
  client.on('error', () => undefined);
  // ioredis keeps the process for this long after a disconnection.
  if (client instanceof Redis) client.options.disconnectTimeout = 50;
  return client;
}

/** Every text of an error, and of what it is caused by, as far as the library has made it. */
function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

describe('while Redis is away, no log line, event, exception or answer has the words of ioredis', () => {
  it.each<[string, () => RateLimitModuleOptions | Promise<RateLimitModuleOptions>]>([
    ['a URL', () => ({ redis: server.url })],
    ['options', () => ({ redis: { host: server.host, port: server.port } })],
    ['a client', () => ({ redis: quiet(new Redis(server.url)) })],
    [
      "the application's own client, which queues nothing",
      () => ({
        store: new RedisStore(quiet(new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 }))),
      }),
    ],
    [
      "the application's own client, which gives up",
      () => ({ store: new RedisStore(quiet(new Redis(server.url, { maxRetriesPerRequest: 1, commandTimeout: 40 }))) }),
    ],
    [
      'a Cluster',
      async () => {
        await server.stop();
        server = await RedisServer.start({ args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] });
        const node = quiet(new Redis(server.url));
        await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
        await until('the cluster is ready', 10_000, async () => (await node.cluster('INFO')).includes('state:ok'));
        return {
          redis: quiet(
            new Cluster([{ host: server.host, port: server.port }], { redisOptions: { disconnectTimeout: 50 } }),
          ),
        };
      },
    ],
  ])('with %s', async (_, given) => {
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
    await until('the clients are connected', 10_000, async () => clients.every(({ status }) => status === 'ready'));
    const lease = await limiter.acquire(JOBS, ADA);
    const reservation = await limiter.reserve(MAIL, ADA, { cost: 5 });
    expect(reservation.decision.decidedBy).toBe('store');
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
    const since = performance.now();
    while (performance.now() - since < KILLED_MS) {
      await tell(() => limiter.consume(CLOSED, ADA));
      await tell(() => limiter.consume(MAIL, ADA));
      await tell(() => limiter.reset('mail', ADA));
      await tell(() => overrides.list());
      await tell(async () => said.push((await app.send('/mail', { method: 'POST' })).text));
      await tell(async () => said.push((await app.send('/admin/limits/overrides')).text));
    }
    await tell(() => reservation.settle(3));
    lease.release();
    expect(failures).toBeGreaterThan(5);
    expect(said.filter((text) => FOREIGN.test(text))).toEqual([]);
    // The line at boot names the options in which a duplicate differs from its client.
    const lines = app.logs.lines.map(({ text }) => text).filter((text) => !text.startsWith('Limits are kept in Redis'));
    expect(lines.filter((text) => FOREIGN.test(text))).toEqual([]);
  });
});
