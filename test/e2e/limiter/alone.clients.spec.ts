import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLimiter, type Policy, RateLimiter } from 'nestjs-floodgate';
import { RedisServer } from '../../support/redis-server.js';

const ADA = { kind: 'user', value: 'ada' };
const MAILS = { algorithm: 'fixed-window', limit: 3, window: '1d' } as const satisfies Policy;
const SLOTS = { algorithm: 'concurrency', limit: 1, lease: '30s' } as const satisfies Policy;

describe('createLimiter', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

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
      redis: server.url,
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
    await expect(limiters[0]!.consume('mails', ADA)).rejects.toThrow('could not be checked');
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

  it.each([
    [{ deadline: 'soon' }, 'createLimiter: deadline must be'],
    [{ redi: 'redis://x' }, "createLimiter: 'redi' is not an option"],
    [{ policies: { mails: { ...MAILS, limit: -1 } } }, 'createLimiter, policies.mails'],
    [{ defaults: ['mails'] }, "createLimiter: 'defaults' is not an option"],
  ])('refuses wrong options: %j', async (options, message) => {
    await expect(createLimiter(options as object)).rejects.toThrow(message);
  });
});
