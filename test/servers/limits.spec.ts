import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { fastify } from 'fastify';
import { createLimiter, type LimiterOptions, type RateLimiter } from 'floodgate';
import { ipIdentity, type RateLimitRequest, userIdentity } from 'floodgate/http';
import { rateLimit as forExpress } from 'floodgate/express';
import { limitHook, rateLimit as forFastify } from 'floodgate/fastify';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { CapturedLogs, start } from '../support/http-app.js';
import { until } from '../support/faults/until.js';
import { nodeWarnings } from '../support/node-warnings.js';
import { type Handler, type Limit, NAMES, type OpenServer, SERVERS } from './support/servers.js';

const BUCKET = { name: 'all', algorithm: 'token-bucket', capacity: 2, refill: '1/10s' } as const;
const TRUST = { trustProxy: 1 } as object;
const ONE = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '1d' } as const;

const MISSING = { identity: [userIdentity()], onMissingIdentity: 'reject' } as const;

const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function limiterOf(options: LimiterOptions = {}): Promise<RateLimiter> {
  const limiter = await createLimiter({
    store: new VirtualStore(new VirtualClock()),
    logger: new CapturedLogs(),
    ...options,
  });
  await limiter.start();
  closing.push(() => limiter.close());
  return limiter;
}

/** The status, the headers of the limits, and the body of an answer. */
async function seen(response: Response): Promise<object> {
  const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'ratelimit', 'ratelimit-policy'];
  const told = [...names, 'retry-after', 'cache-control', 'content-type'];
  const headers = told.map((name) => [name, response.headers.get(name)?.replace('; charset=utf-8', '')]);
  const body: unknown = response.status < 400 ? undefined : await response.json();
  // Two answers may lie on both sides of a full second of the wall clock.
  const reset = response.headers.get('x-ratelimit-reset');
  const resets = { 'x-ratelimit-reset': reset === null ? null : Math.abs(Number(reset) - Date.now() / 1000) < 100 };
  return { status: response.status, ...Object.fromEntries(headers), ...resets, body };
}

it("warns of Express's trust proxy: true, and of a number that Fastify ignores", async () => {
  const logger = new CapturedLogs();
  const limiter = await limiterOf({ logger });
  const express = await SERVERS.express(limiter, [[ONE, { trustProxy: true as never }]]);
  closing.push(() => express[Symbol.asyncDispose]());
  expect(logger.of('warn')).toEqual([]);
  await fetch(`${express.url}/200`);
  expect(logger.of('warn')).toEqual([expect.stringMatching(/^trust proxy is true: /)]);
  const app = fastify({ trustProxy: 1 as never });
  closing.push(() => app.close());
  await app.register(async (plugin) => {
    await plugin.register(forFastify, { limiter, policies: ONE });
    plugin.get('/', () => ({}));
  });
  await fetch(await app.listen({ port: 0, host: '127.0.0.1' }));
  expect(logger.of('warn').slice(1)).toEqual([expect.stringMatching(/^trust proxy is 1, which .* fastify ignores/)]);
});

it('errors begin with what was called', async () => {
  const redis = { hosst: 'redis.internal' } as never;
  await expect(createLimiter({ redis })).rejects.toThrow(/^createLimiter, redis: 'hosst' is not an option of ioredis/);
  const unreachable = await createLimiter({ redis: 'redis://127.0.0.1:1', connect: 'required' });
  await expect(unreachable.start()).rejects.toThrow(/^createLimiter, redis: Redis cannot decide: /);
  const identity = [ipIdentity({ ipv6Prefix: 64 }), ipIdentity({ ipv6Prefix: 48 })];
  await expect(SERVERS.http(await limiterOf(), [[ONE, { identity }]])).rejects.toThrow(
    /^floodgate\/http, identity: ipv6Prefix must be one for all addresses, got 64 and 48/,
  );
});

it.each([
  ['express', (limiter: RateLimiter) => forExpress(limiter, ONE, TRUST), "app.set('trust proxy', 1)"],
  ['fastify', (limiter: RateLimiter) => limitHook(limiter, ONE, TRUST), "trustProxy: 'loopback, 10.0.0.0/8'"],
] as const)('say where the proxies of %s are trusted', async (name, limit, right) => {
  const limiter = await limiterOf();
  expect(() => limit(limiter)).toThrow(`floodgate/${name}: 'trustProxy' is not an option. Tell ${name} `);
  expect(() => limit(limiter)).toThrow(right);
});

describe.each(NAMES)('the limits of %s', (name) => {
  const open = async (limiter: RateLimiter, limits: readonly Limit[], handler?: Handler): Promise<OpenServer> => {
    const server = await SERVERS[name](limiter, limits, handler);
    closing.push(() => server[Symbol.asyncDispose]());
    return server;
  };
  const statuses = async (url: string, count: number, headers: Record<string, string> = {}): Promise<number[]> => {
    const found: number[] = [];
    for (let i = 0; i < count; i++) {
      const response = await fetch(url, { headers });
      await response.arrayBuffer();
      found.push(response.status);
    }
    return found;
  };

  it.each(['x-ratelimit', 'draft-11', 'x-ratelimit+draft-11', false] as const)(
    'answer as those of a route of Nest, with headers %s',
    async (headers) => {
      @Controller()
      class Routes {
        @Get('200')
        @RateLimit({ ...BUCKET, scope: 'app' })
        read(): object {
          return {};
        }
      }
      const nest = await start('Express', {
        imports: [RateLimitModule.forRoot({ store: new VirtualStore(new VirtualClock()), headers })],
        controllers: [Routes],
      });
      closing.push(() => nest.close());
      const { url } = await open(await limiterOf(), [[BUCKET, { headers }]]);
      for (let i = 0; i < 3; i++) {
        const [theirs, ours] = [await fetch(`http://127.0.0.1:${nest.port}/200`), await fetch(`${url}/200`)];
        const [expected, found] = [await seen(theirs), await seen(ours)];
        if (i < 2) Object.assign(expected, { 'content-type': undefined });
        if (i < 2) Object.assign(found, { 'content-type': undefined });
        expect(found).toEqual(expected);
        expect(ours.status).toBe(i < 2 ? 200 : 429);
      }
    },
  );

  it('count several policies as one step, and each limit of a request once', async () => {
    const limiter = await limiterOf({ policies: { all: BUCKET, one: ONE } });
    const { url } = await open(limiter, [[['all', 'one']], ['one']]);
    expect(await statuses(`${url}/200`, 3)).toEqual([200, 429, 429]);
    const peeked = await limiter.peek('all', { kind: 'ip', value: '127.0.0.1' });
    expect(peeked.policies[0]!.remaining).toBe(1);
  });

  it('say on one response what all of them have left', async () => {
    const limiter = await limiterOf();
    const { url } = await open(limiter, [
      [BUCKET, { headers: 'draft-11' }],
      [ONE, { headers: 'draft-11' }],
    ]);
    const passed = await fetch(`${url}/200`);
    expect(passed.headers.get('ratelimit')).toMatch(/^"all";r=1.*, "one";r=0/);
    const rejected = await fetch(`${url}/200`);
    expect([rejected.status, rejected.headers.get('ratelimit')]).toEqual([429, expect.stringMatching(/"one";r=0/)]);
  });

  it('keep the headers of an earlier limit where a later one counts nothing, or has another format', async () => {
    const limiter = await limiterOf();
    const headersOf = async (...limits: Limit[]): Promise<unknown[]> => {
      const { url } = await open(limiter, limits);
      const { status, headers } = await fetch(`${url}/200`);
      return [status, headers.get('x-ratelimit-remaining'), headers.get('ratelimit')];
    };
    const first = { ...BUCKET, by: 'global', capacity: 9 } as const;
    expect(await headersOf([first], [first])).toEqual([200, '8', null]);
    expect(await headersOf([first], [{ ...ONE, skipIf: () => true }])).toEqual([200, '7', null]);
    expect(await headersOf([first], [ONE, { headers: 'draft-11' }])).toEqual([
      200,
      '6',
      expect.stringMatching(/"one";r=0/),
    ]);
    expect(await headersOf([first], [ONE])).toEqual([429, '0', null]);
    expect(await headersOf([first], [{ ...ONE, name: 'reject', by: 'user' }, MISSING])).toEqual([401, '4', null]);
  });

  it('listen to a server once, however many they are', async () => {
    const warned = nodeWarnings();
    const policies = Array.from({ length: 12 }, (_, i) => ({ ...ONE, name: `p${i}` }));
    const { url } = await open(
      await limiterOf(),
      policies.map((policy) => [policy]),
    );
    expect(await statuses(`${url}/200`, 2)).toEqual([200, 429]);
    expect(await warned()).toEqual([]);
  });

  it('pass and block addresses of lists, before anything is charged', async () => {
    const limiter = await limiterOf();
    const { url } = await open(limiter, [[ONE, { allowList: ['127.0.0.0/8'] }]]);
    expect(await statuses(`${url}/200`, 2)).toEqual([200, 200]);
    const blocked = await open(limiter, [[ONE, { blockList: (address) => address === '127.0.0.1' }]]);
    const answer = await fetch(`${blocked.url}/200`);
    expect([answer.status, await answer.json()]).toEqual([
      403,
      expect.objectContaining({ error: 'rate_limit_address_blocked' }),
    ]);
    expect(limiter.stats().requests).toBe(0);
  });

  it('settle a request by how it ended', async () => {
    const { url } = await open(await limiterOf(), [[{ ...ONE, countIf: ({ status }) => status === 401 }]]);
    expect(await statuses(`${url}/200`, 3)).toEqual([200, 200, 200]);
    expect(await statuses(`${url}/500`, 2)).toEqual([500, 500]);
    await until('the refunds have come', 5_000, async () => (await fetch(`${url}/401`)).status === 401);
    expect(await statuses(`${url}/200`, 1)).toEqual([429]);
  });

  it('hold a place of a concurrency until the answer is sent', async () => {
    let finish!: (status: number) => void;
    let entered = 0;
    const handler = async (): Promise<number> => {
      entered++;
      return new Promise((resolve) => (finish = resolve));
    };
    const places = { name: 'places', algorithm: 'concurrency', limit: 1, lease: '1h' } as const;
    const { url } = await open(await limiterOf(), [[places]], handler);
    const first = fetch(`${url}/handler`);
    await until('it runs', 5_000, () => entered === 1);
    expect(await statuses(`${url}/200`, 1)).toEqual([429]);
    finish(200);
    expect((await first).status).toBe(200);
    await until('its place is free', 5_000, async () => (await statuses(`${url}/200`, 1))[0] === 200);
  });

  it.each(['destroy', 'resetAndDestroy'] as const)('free the places of 300 clients that leave: %s', async (leave) => {
    let entered = 0;
    const handler = async (): Promise<number> => {
      entered++;
      return new Promise(() => {});
    };
    const limiter = await limiterOf();
    const places = { name: 'places', algorithm: 'concurrency', limit: 300, lease: '1h' } as const;
    const { port, url } = await open(limiter, [[places]], handler);
    const sockets = Array.from({ length: 300 }, () => createConnection(port, '127.0.0.1').on('error', () => {}));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write('GET /handler HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('all run', 20_000, () => entered === 300);
    expect(limiter.stats().leases).toMatchObject([{ policy: 'places', held: 300 }]);
    expect(await statuses(`${url}/200`, 1)).toEqual([429]);
    for (const socket of sockets) socket[leave]();
    await until('their places are free', 20_000, () => limiter.stats().leases.every(({ held }) => held === 0));
    expect(await statuses(`${url}/200`, 1)).toEqual([200]);
  });

  it('count the client that a trusted proxy names, and no other', async () => {
    const from = (address: string): Record<string, string> => ({ 'X-Forwarded-For': address });
    const trusting = await open(await limiterOf(), [[ONE, { trustProxy: 1 }]]);
    expect(await statuses(`${trusting.url}/200`, 2, from('203.0.113.7'))).toEqual([200, 429]);
    expect(await statuses(`${trusting.url}/200`, 1, from('203.0.113.8'))).toEqual([200]);
    // A client that writes an address in front of its own gets no fresh limit.
    expect(await statuses(`${trusting.url}/200`, 1, from('198.51.100.1, 203.0.113.8'))).toEqual([429]);
    const plain = await open(await limiterOf(), [[ONE]]);
    expect(await statuses(`${plain.url}/200`, 1, from('203.0.113.7'))).toEqual([200]);
    expect(await statuses(`${plain.url}/200`, 1, from('203.0.113.8'))).toEqual([429]);
  });

  const warningsFor = async (options: Limit[1], headers: Record<string, string>): Promise<string[]> => {
    const logger = new CapturedLogs();
    const { url } = await open(await limiterOf({ logger }), [
      [BUCKET, options],
      [ONE, options],
    ]);
    await statuses(`${url}/200`, 2);
    await statuses(`${url}/200`, 2, headers);
    return logger.of('warn');
  };
  const RIGHT = {
    express: "app.set('trust proxy', 1)",
    fastify: "trustProxy: 'loopback, 10.0.0.0/8', given to fastify()",
    hono: '{ trustProxy: 1 }',
    http: '{ trustProxy: 1 }',
  }[name];
  const FORWARDED_FOR = { 'X-Forwarded-For': '203.0.113.7' };

  it('warn once of a forwarded request while no proxy is trusted', async () => {
    const warnings = await warningsFor({}, FORWARDED_FOR);
    expect(warnings).toEqual([expect.stringMatching(/^A request came with the header x-forwarded-for while trust /)]);
    expect(warnings[0]).toContain(RIGHT);
    expect(await warningsFor({}, { 'X-Real-IP': '203.0.113.7' })).toEqual([
      expect.stringContaining('have the proxy send X-Forwarded-For'),
    ]);
  });

  it('warn of a setting that trusts every address, once', async () => {
    const warnings = await warningsFor({ trustProxy: ['0.0.0.0/1', '128.0.0.0/1'] }, FORWARDED_FOR);
    expect(warnings).toEqual([expect.stringMatching(/^trust proxy is a list that contains every address: /)]);
    expect(warnings[0]).toContain(RIGHT);
  });

  it('warn of no proxy that is trusted, and of none where a CDN names the address', async () => {
    expect(await warningsFor({ trustProxy: ['127.0.0.0/8'] }, FORWARDED_FOR)).toEqual([]);
    const identity = [ipIdentity({ header: 'CF-Connecting-IP' })];
    expect(await warningsFor({ identity }, { ...FORWARDED_FOR, 'CF-Connecting-IP': '203.0.113.7' })).toEqual([]);
  });

  it('count identities, and reject a request without one', async () => {
    const options = { identity: [userIdentity(), ipIdentity()], onMissingIdentity: 'reject' } as const;
    const { url } = await open(await limiterOf(), [[{ ...ONE, by: 'user' }, options]]);
    expect(await statuses(`${url}/200`, 2, { 'X-User-Id': 'a' })).toEqual([200, 429]);
    expect(await statuses(`${url}/200`, 1, { 'X-User-Id': 'b' })).toEqual([200]);
    const missing = await fetch(`${url}/200`);
    expect([missing.status, await missing.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'rate_limit_identity_missing', policy: 'one' }),
    ]);
  });

  it('ask the functions of a policy', async () => {
    const policy = {
      ...BUCKET,
      capacity: 4,
      by: ({ headers }: RateLimitRequest) => ({ kind: 'tenant', value: headers['x-tenant'] as string }),
      cost: ({ headers }: RateLimitRequest) => Number(headers['x-cost'] ?? 1),
      skipIf: ({ headers }: RateLimitRequest) => headers['x-skip'] === 'yes',
    };
    const { url } = await open(await limiterOf(), [[policy]]);
    expect(await statuses(`${url}/200`, 2, { 'X-Tenant': 'a', 'X-Cost': '3' })).toEqual([200, 429]);
    expect(await statuses(`${url}/200`, 2, { 'X-Tenant': 'a' })).toEqual([200, 429]);
    expect(await statuses(`${url}/200`, 2, { 'X-Tenant': 'a', 'X-Skip': 'yes' })).toEqual([200, 200]);
    expect(await statuses(`${url}/200`, 1, { 'X-Tenant': 'b' })).toEqual([200]);
  });

  it('leave errors to the server', async () => {
    const options = { onMissingIdentity: 'throw', identity: [userIdentity()] } as const;
    const { url } = await open(await limiterOf(), [[{ ...ONE, by: 'user' }, options]]);
    const answer = await fetch(`${url}/200`);
    expect([answer.status, await answer.text()]).toEqual([
      500,
      expect.stringContaining('FG_IDENTITY_REQUIRED'.toLowerCase()),
    ]);
  });

  it('refuse what would be without effect', async () => {
    const limiter = await limiterOf();
    const opened = (...limit: Limit): Promise<unknown> => open(limiter, [limit]);
    await expect(opened({ ...ONE, scope: 'route' } as never)).rejects.toThrow(/scope 'route' needs a route of Nest/);
    await expect(opened({ ...ONE, by: 'user' })).rejects.toThrow(/counts by 'user', but no resolver/);
    await expect(opened('unknown')).rejects.toThrow(/unknown/);
    await expect(opened(ONE, { headers: 'drafts' as never })).rejects.toThrow(/headers must be one of/);
    await expect(opened(ONE, { trustProxi: 1 } as never)).rejects.toThrow(/'trustProxi' is not an option/);
    await expect(opened({ ...ONE, plans: { pro: { limit: 2 } } })).rejects.toThrow(/has plans/);
    await expect(opened({ algorithm: 'fixed-window', limit: 1, window: '1d' })).rejects.toThrow(/needs a name/);
    await expect(open({} as RateLimiter, [[ONE]])).rejects.toThrow(
      /takes a RateLimiter, which createLimiter returns, got an object/,
    );
    const early = createLimiter() as unknown as RateLimiter;
    await expect(open(early, [[ONE]])).rejects.toThrow(
      /takes a RateLimiter, which createLimiter returns, got a promise: await it/,
    );
    await expect(opened(ONE, { onDecision: () => {} } as never)).rejects.toThrow(
      /'onDecision' is not an option. Give it to createLimiter. The options are /,
    );
  });
});
