import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { createLimiter, type DecisionEvent, type LimiterOptions, type RateLimiter } from 'floodgate';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { useRedis } from '../support/redis-fixture.js';
import { CapturedLogs, start } from '../support/http-app.js';
import { NAMES, SERVERS } from './support/servers.js';

/** No test sees a token come back, and a busy machine has its time. */
const SHARED = { name: 'shared', algorithm: 'token-bucket', capacity: 7, refill: '1/h', by: 'global' } as const;
const DEADLINE = { deadline: '10s' } as const;

const redis = useRedis();
const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function limiterOf(options: LimiterOptions): Promise<RateLimiter> {
  const limiter = await createLimiter({ redis: redis.server.url, logger: new CapturedLogs(), ...DEADLINE, ...options });
  await limiter.start();
  closing.push(() => limiter.close());
  return limiter;
}

async function status(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

describe('one Redis', () => {
  it('has one limit for all servers, a Nest application and a script', async () => {
    @Controller()
    class Routes {
      @Get('200')
      @RateLimit({ ...SHARED, scope: 'app' })
      read(): object {
        return {};
      }
    }
    const nest = await start('Express', {
      imports: [RateLimitModule.forRoot({ redis: redis.server.url, ...DEADLINE })],
      controllers: [Routes],
    });
    closing.push(() => nest.close());
    const urls = [`http://127.0.0.1:${nest.port}`];
    for (const name of NAMES) {
      const server = await SERVERS[name](await limiterOf({}), [[SHARED]]);
      closing.push(() => server[Symbol.asyncDispose]());
      urls.push(server.url);
    }
    const statuses = await Promise.all([...urls, ...urls].map((url) => status(`${url}/200`)));
    expect(statuses.filter((one) => one === 200)).toHaveLength(SHARED.capacity);
    expect(statuses.filter((one) => one === 429)).toHaveLength(2 * urls.length - SHARED.capacity);
    expect((await (await limiterOf({})).consume(SHARED)).allowed).toBe(false);
  });
});

describe.each(NAMES)('%s', (name) => {
  it('answers 503 while a policy that requires the store has none', async () => {
    const limiter = await limiterOf({ redis: 'redis://127.0.0.1:1', deadline: '50ms' });
    const server = await SERVERS[name](limiter, [[{ ...SHARED, onStoreFailure: 'closed' }]]);
    closing.push(() => server[Symbol.asyncDispose]());
    const answer = await fetch(`${server.url}/200`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ error: 'rate_limit_unavailable' });
  });

  it.each(['in the process', 'on Redis'])('answers 503 after the limiter has closed, %s', async (where) => {
    const limiter = await limiterOf(where === 'on Redis' ? {} : { redis: undefined });
    const server = await SERVERS[name](limiter, [[{ ...SHARED, name: 'closed', capacity: 2 }]]);
    closing.push(() => server[Symbol.asyncDispose]());
    expect(await status(`${server.url}/200`)).toBe(200);
    await limiter.close();
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`${server.url}/200`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await answer.json()).toMatchObject({
        error: 'rate_limit_unavailable',
        message: 'The server is shutting down',
      });
    }
    await expect(SERVERS[name](limiter, [[SHARED]])).rejects.toThrow('The limiter is closed');
  });

  it('says of each decision which server asked, and by which policies', async () => {
    const events: DecisionEvent[] = [];
    const limiter = await limiterOf({ onDecision: (event) => void events.push(event) });
    const server = await SERVERS[name](limiter, [[[SHARED, { ...SHARED, name: 'other' }]]]);
    closing.push(() => server[Symbol.asyncDispose]());
    expect(await status(`${server.url}/200`)).toBe(200);
    expect(events).toMatchObject([{ route: `${name}.shared+other`, source: 'store', decision: { allowed: true } }]);
  });
});
