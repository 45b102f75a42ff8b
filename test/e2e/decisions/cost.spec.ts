import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitRequest } from 'nestjs-floodgate';
import { left, limited, limitHeaders } from '../../support/http-app.js';
import { expectRationed } from '../../support/rationed.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { algorithm: 'token-bucket', capacity: 10, refill: '1/m' };

function routeWith(...[policy, ...more]: [Policy, ...Policy[]]): Type {
  @Controller()
  class Search {
    @Get()
    @RateLimit(policy, ...more)
    get(): void {}
  }
  return Search;
}

type QueryRequest = RateLimitRequest<{ query: Record<string, string | undefined> }>;

const costOf = ({ query }: QueryRequest): number => Number(query.cost ?? 1);

describe('a cost', () => {
  it('is the number of tokens that a request takes', async () => {
    await using app = await limited('Express', routeWith({ ...BUCKET, cost: 4 }), { store: new StillStore() });
    expect(left(await app.send('/'))).toBe(6);
    expect(left(await app.send('/'))).toBe(2);
    expect((await app.send('/')).body).toMatchObject({ statusCode: 429, retry_after_ms: 120_000 });
  });

  it('of 0 peeks: the request passes while one of cost 1 would, and takes nothing', async () => {
    const cost = async (request: QueryRequest) => (await turn(), costOf(request));
    await using app = await limited('Express', routeWith({ ...BUCKET, cost }), { store: new StillStore() });
    for (let i = 0; i < 30; i++) expect(left(await app.send('/?cost=0'))).toBe(10);
    expect((await app.send('/?cost=10')).status).toBe(200);
    expect((await app.send('/?cost=0')).status).toBe(429);
  });

  it.each<unknown>([-1, 1.5, NaN, Infinity, 2 ** 53, '3', undefined, null, [1], Object(1), 3n, Symbol('one')])(
    'of %p from a function makes the request fail with a logged 500, and no policy of the route is charged',
    async (cost) => {
      const other: Policy = { name: 'other', algorithm: 'fixed-window', limit: 5, window: '1h' };
      const store = new StillStore();
      const wrong = { ...BUCKET, cost: () => cost as number };
      await using app = await limited('Express', routeWith(other, wrong), { store });
      const reply = await app.send('/');
      expect(reply.status).toBe(500);
      expect(limitHeaders(reply)).toEqual([]);
      expect(app.logs.of('error').join()).toContain("cost of policy 'default' must be a whole number from 0");
      expect(store.asked).toEqual([]);
    },
  );

  it('of a function that fails is 1: the request is counted, and a rationed warning names the failure', async () => {
    const cost = () => Promise.reject(new Error('no body'));
    const controller = routeWith({ ...BUCKET, capacity: 2, cost });
    await using app = await limited('Express', controller, { store: new StillStore() });
    const since = performance.now();
    const replies = [await app.send('/'), await app.send('/'), await app.send('/')];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(expectRationed(app.logs.of('warn'), since)).toContain(
      "cost of policy 'default' failed, the request costs 1: no body",
    );
    expect(app.app.get(RateLimiter).stats().functionFailures).toMatchObject({ cost: 3, skipIf: 0 });
  });

  it('that can never fit is rejected without Retry-After and with a retry_after of null, and charges nothing', async () => {
    const roomy: Policy = { name: 'roomy', algorithm: 'fixed-window', limit: 5, window: '1h' };
    await using app = await limited('Express', routeWith(roomy, { ...BUCKET, cost: costOf }), {
      store: new StillStore(),
    });
    const { status, headers, body } = await app.send('/?cost=11');
    expect(status).toBe(429);
    expect(headers).not.toHaveProperty('retry-after');
    expect(headers['x-ratelimit-remaining']).toBe('10');
    expect(body).toEqual({
      statusCode: 429,
      error: 'rate_limit_exceeded',
      message: 'The request takes more than its rate limit ever allows',
      retry_after: null,
      retry_after_ms: null,
      policy: 'default',
    });
    expect((await app.send('/?cost=10')).status).toBe(200);
  });
});

describe('a skipIf', () => {
  const internal = ({ query }: QueryRequest): boolean => query.internal === 'yes';

  it.each<[string, NonNullable<Policy['skipIf']>]>([
    ['a function', internal],
    ['an asynchronous function', async (request: QueryRequest) => (await turn(), internal(request))],
  ])('as %s lets requests pass uncounted and without headers', async (_, skipIf) => {
    const store = new StillStore();
    await using app = await limited('Express', routeWith({ ...BUCKET, skipIf }), { store });
    expect(await app.crowd(15, '/?internal=yes')).toEqual({ 200: 15 });
    expect(limitHeaders(await app.send('/?internal=yes'))).toEqual([]);
    expect(store.asked).toEqual([]);
    expect(await app.crowd(15, '/')).toEqual({ 200: 10, 429: 5 });
  });

  it('skips only its own policy', async () => {
    const other: Policy = { name: 'other', algorithm: 'fixed-window', limit: 12, window: '1h' };
    await using app = await limited('Express', routeWith({ ...BUCKET, skipIf: internal }, other), {
      store: new StillStore(),
    });
    expect(await app.crowd(15, '/?internal=yes')).toEqual({ 200: 12, 429: 3 });
  });
});
