import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import {
  createLimiter,
  limitedFetch,
  LimiterClosedError,
  type Policy,
  RateLimiter,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { useRedis } from '../../support/redis-fixture.js';

const ADA = { kind: 'user', value: 'ada' };
const MAILS = { algorithm: 'fixed-window', limit: 3, window: '1d' } as const satisfies Policy;
const SLOTS = { algorithm: 'concurrency', limit: 1, lease: '30s' } as const satisfies Policy;

describe('createLimiter', () => {
  const redis = useRedis();

  it('decides in the process, with what the limiter of a module has', async () => {
    const limiter = await createLimiter({ policies: { mails: MAILS, slots: SLOTS } });
    await limiter.start();
    expect(limiter).toBeInstanceOf(RateLimiter);
    expect(limiter.consumeSync('mails', ADA).allowed).toBe(true);
    expect(await limiter.schedule('mails', ADA, () => 'sent')).toBe('sent');
    const lease = await limiter.acquire('slots', ADA);
    expect([lease.allowed, (await limiter.acquire('slots', ADA)).allowed]).toEqual([true, false]);
    lease.release();
    expect((await limiter.explain({ policy: 'mails' }, ADA)).policies[0]).toMatchObject({
      policy: 'mails',
      counts: true,
    });
    expect((await limiter.peek('mails', ADA)).policies[0]!.remaining).toBe(1);
    expect(limiter.table()).toMatchObject({ routes: [], named: [{ name: 'mails' }, { name: 'slots' }] });
    expect((await limiter.reset('mails', ADA)).length).toBe(1);
    expect((await limiter.peek('mails', ADA)).policies[0]!.remaining).toBe(3);
    await limiter.close();
  });

  it('counts in one Redis with all others of the same prefix', async () => {
    const options = {
      redis: redis.server.url,
      policies: { mails: MAILS },
      onStoreFailure: 'closed',
      deadline: '10s',
    } as const;
    const limiters = await Promise.all([1, 2].map(() => createLimiter(options)));
    await Promise.all(limiters.map((limiter) => limiter.start()));
    const decisions = await Promise.all(
      Array.from({ length: 8 }, (_, i) => limiters[i % 2]!.consume('mails', { kind: 'user', value: 'bob' })),
    );
    expect(decisions.filter(({ allowed, decidedBy }) => allowed && decidedBy === 'store')).toHaveLength(3);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });

  it.each(['in the process', 'on Redis'])('answers no call after close, %s', async (where) => {
    const url = where === 'on Redis' ? redis.server.url : undefined;
    const limiter = await createLimiter({ redis: url, policies: { mails: MAILS, slots: SLOTS }, deadline: '10s' });
    await limiter.start();
    expect((await limiter.consume('mails', ADA)).allowed).toBe(true);
    await limiter.close();
    const calls: readonly (() => unknown)[] = [
      () => limiter.consume('mails', ADA),
      async () => limiter.consumeSync('mails', ADA),
      () => limiter.peek('mails', ADA),
      () => limiter.reserve('mails', ADA),
      () => limiter.acquire('slots', ADA),
      () => limiter.schedule('mails', ADA, () => 'sent'),
      () => limiter.pause('mails', ADA, { for: '1s' }),
      () => limitedFetch(limiter, 'mails', { identity: ADA })('http://127.0.0.1:9/'),
      () => limiter.start(),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(LimiterClosedError);
    await expect(limiter.start()).rejects.toThrow('The limiter is closed');
    await limiter.close();
  });

  it('refuses a policy of a call that needs a route, as one of its own', async () => {
    const limiter = await createLimiter({ policies: { mails: { ...MAILS, scope: 'app' } } });
    expect((await limiter.consume('mails', ADA)).allowed).toBe(true);
    const inline = { ...MAILS, name: 'inline', scope: 'route' } as const;
    await expect(limiter.consume(inline, ADA)).rejects.toThrow(
      "RateLimiter.consume: scope 'route' needs a route of Nest",
    );
    await limiter.close();
  });

  it('sets the headers of a decision on a response of Node', async () => {
    const limiter = await createLimiter({ policies: { mails: { ...MAILS, limit: 1 } } });
    const http = createServer((_, response) => {
      void limiter.consume('mails', ADA).then((decision) => {
        limiter.setHeaders(response, decision);
        response.statusCode = decision.allowed ? 200 : 429;
        response.end();
      });
    }).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const answers = [await fetch(url), await fetch(url)];
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]!.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(answers[1]!.headers.get('retry-after'))).toBeGreaterThan(0);
    http.close();
    http.closeAllConnections();
    await limiter.close();
  });

  it('logs what a module logs of its options, and of the numbers of its policies', async () => {
    const warnings: string[] = [];
    const logger = { log: () => {}, warn: (text: string) => void warnings.push(text), error: () => {} };
    const search = { algorithm: 'token-bucket', capacity: 20, refill: 100 } as const;
    await createLimiter({ redis: redis.server.url, deadline: 5, denialCache: 1, policies: { search }, logger });
    expect(warnings).toEqual([
      expect.stringContaining("'search': refill is 100 per second"),
      expect.stringContaining("createLimiter: deadline is 5 ms; for 5 seconds write '5s'"),
      expect.stringContaining("createLimiter: denialCache is 1 ms; for 1 second write '1s'"),
    ]);
  });

  it('refuses a policy that a given store cannot decide, and warns of a prefetch without effect, at once', async () => {
    const store: RateLimitStore = {
      consume: () => Promise.reject(new Error('is not asked')),
      reset: () => Promise.resolve(),
    };
    await expect(createLimiter({ store, policies: { mails: { ...MAILS, mode: 'shadow' } } })).rejects.toThrow(
      "createLimiter, policies, policy 'mails': the store does not know mode: 'shadow'",
    );
    const warn = jest.fn();
    const logger = { log: () => {}, warn, error: () => {} };
    const ahead = { algorithm: 'token-bucket', capacity: 20, refill: 2, prefetch: { for: '100ms', max: 5 } } as const;
    await createLimiter({ store, policies: { ahead }, logger });
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining("createLimiter, policies: prefetch of policy 'ahead' has no effect with this store")],
    ]);
  });

  it('begins its counters at zero, before the first call', async () => {
    const limiter = await createLimiter({ policies: { mails: MAILS } });
    expect(limiter.stats().policies).toMatchObject([{ policy: 'mails', requests: 0 }]);
    await limiter.close();
  });

  it('decides before start as while Redis is away: by onStoreFailure, and says so', async () => {
    const warn = jest.fn<(text: string) => void>();
    const logger = { log: () => {}, warn, error: () => {} };
    const options = { redis: redis.server.url, policies: { mails: MAILS }, deadline: '10s', logger } as const;
    const [local, closed] = await Promise.all([
      createLimiter(options),
      createLimiter({ ...options, onStoreFailure: 'closed' }),
    ]);
    expect(await local.consume('mails', { kind: 'user', value: 'eve' })).toMatchObject({
      allowed: true,
      decidedBy: 'local',
    });
    await expect(closed.consume('mails', ADA)).rejects.toThrow('could not be checked');
    const unstarted = 'Redis is unavailable: the limiter has not started (await start() before the first decision). ';
    expect(warn.mock.calls).toEqual([1, 2].map(() => [expect.stringContaining(unstarted)]));
    await local.start();
    expect(await local.consume('mails', { kind: 'user', value: 'eve' })).toMatchObject({ decidedBy: 'store' });
    await Promise.all([local.close(), closed.close()]);
  });

  it.each([
    [{ deadline: 'soon' }, 'createLimiter: deadline must be'],
    [{ redi: 'redis://x' }, "createLimiter: 'redi' is not an option"],
    [{ policies: { mails: { ...MAILS, limit: -1 } } }, 'createLimiter, policies.mails'],
    [
      { policies: { mails: { ...MAILS, else: 'post' } } },
      'createLimiter, policies.mails, else: there is no policy named',
    ],
    [{ defaults: ['mails'] }, "createLimiter: 'defaults' is not an option"],
    ...['identity', 'onMissingIdentity', 'allowList', 'blockList', 'headers', 'trustProxy'].map(
      (option): [object, string] => [
        { [option]: [] },
        `createLimiter: '${option}' is not an option. Give it to rateLimit, limitHook or limitRequests. `,
      ],
    ),
    ...['route', 'controller'].map((scope): [object, string] => [
      { policies: { mails: { ...MAILS, scope } } },
      `createLimiter, policies.mails: scope '${scope}' needs a route of Nest`,
    ]),
  ])('refuses wrong options: %j', async (options, message) => {
    await expect(createLimiter(options)).rejects.toThrow(message);
  });
});
