import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitRequest } from 'nestjs-floodgate';
import { left, limited, limitHeaders, PLATFORMS } from '../../support/http-app.js';
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

describe.each(PLATFORMS)('over %s, a cost', (platform) => {
  it('is the number of tokens that a request takes', async () => {
    await using app = await limited(platform, routeWith({ ...BUCKET, cost: 4 }), { store: new StillStore() });
    expect(left(await app.send('/'))).toBe(6);
    expect(left(await app.send('/'))).toBe(2);
    expect((await app.send('/')).body).toMatchObject({ statusCode: 429, retry_after_ms: 120_000 });
  });

  it.each<[string, NonNullable<Policy['cost']>]>([
    ['a function of the request', costOf],
    ['an asynchronous function', async (request: QueryRequest) => (await turn(), costOf(request))],
  ])('may be %s', async (_, cost) => {
    await using app = await limited(platform, routeWith({ ...BUCKET, cost }), { store: new StillStore() });
    expect(left(await app.send('/?cost=7'))).toBe(3);
    expect((await app.send('/?cost=4')).status).toBe(429);
    expect(left(await app.send('/?cost=3'))).toBe(0);
  });

  it('may be a function, which is called without a `this`', async () => {
    const receivers: unknown[] = [];
    const cost = function (this: unknown): number {
      receivers.push(this);
      return 4;
    };
    await using app = await limited(platform, routeWith({ ...BUCKET, cost }), { store: new StillStore() });
    expect(left(await app.send('/'))).toBe(6);
    expect(receivers).toEqual([undefined]);
  });

  it('of 0 peeks: the request passes while one of cost 1 would, and takes nothing', async () => {
    await using app = await limited(platform, routeWith({ ...BUCKET, cost: costOf }), { store: new StillStore() });
    for (let i = 0; i < 30; i++) expect(left(await app.send('/?cost=0'))).toBe(10);
    expect((await app.send('/?cost=10')).status).toBe(200);
    expect((await app.send('/?cost=0')).status).toBe(429);
  });

  it.each(['-1', '1.5', 'NaN', 'Infinity', '-Infinity', '1e300', '9007199254740992'])(
    'of %s from a function makes the request fail with a logged 500, and no policy of the route is charged',
    async (cost) => {
      const other: Policy = { name: 'other', algorithm: 'fixed-window', limit: 5, window: '1h' };
      const store = new StillStore();
      await using app = await limited(platform, routeWith(other, { ...BUCKET, cost: costOf }), { store });
      const reply = await app.send(`/?cost=${cost}`);
      expect(reply.status).toBe(500);
      expect(limitHeaders(reply)).toEqual([]);
      expect(app.logs.of('error').join()).toContain("cost of policy 'default' must be a whole number from 0");
      expect(store.asked).toEqual([]);
    },
  );

  it.each<[string, unknown]>([
    ['text', '3'],
    ['undefined', undefined],
    ['an object', {}],
    ['an object whose valueOf returns a number', { valueOf: () => 1 }],
    ['a number in an object', Object(1)],
    ['a list of one number', [1]],
    ['null', null],
    ['true', true],
    ['a symbol', Symbol('one')],
    ['a bigint', 3n],
  ])('that is %s at run time makes the request fail with a logged 500', async (_, value) => {
    for (const cost of [() => value as number, () => Promise.resolve(value as number)]) {
      const store = new StillStore();
      await using app = await limited(platform, routeWith({ ...BUCKET, cost }), { store });
      expect((await app.send('/')).status).toBe(500);
      expect(app.logs.of('error')).toHaveLength(1);
      expect(store.asked).toEqual([]);
    }
  });

  it.each<[string, NonNullable<Policy['cost']>]>([
    [
      'throws',
      () => {
        throw new Error('no body');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no body'))],
    ['never settles', () => new Promise<number>(() => undefined)],
  ])(
    'of a function that %s is 1: the request is counted, and a rationed warning names the failure',
    async (problem, cost) => {
      const store = new StillStore();
      await using app = await limited(platform, routeWith({ ...BUCKET, capacity: 2, cost }), { store });
      const replies = [await app.send('/'), await app.send('/'), await app.send('/')];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(replies.some(({ text }) => text.includes('no body'))).toBe(false);
      const why = problem === 'never settles' ? 'it did not settle within 50 ms' : 'no body';
      expect(app.logs.of('warn')[0]).toContain(`cost of policy 'default' failed, the request costs 1: ${why}`);
      expect(app.logs.of('warn').length).toBeLessThan(3);
      expect(app.app.get(RateLimiter).stats().functionFailures).toEqual({
        policy: 0,
        identity: 0,
        cost: 3,
        skipIf: 0,
        timeZone: 0,
        priority: 0,
        shed: 0,
        countIf: 0,
        settle: 0,
        problem: 0,
        plan: 0,
        list: 0,
      });
    },
  );

  it.each<Policy>([
    BUCKET,
    { algorithm: 'leaky-bucket', capacity: 10, drain: 1_000_000_000 },
    { algorithm: 'fixed-window', limit: 10, window: '1h' },
    { algorithm: 'sliding-window-log', limit: 10, window: '1h' },
    { algorithm: 'sliding-window-counter', limit: 10, window: '1h' },
  ])(
    'that is invalid or too large changes no state: $algorithm decides the next requests as without it',
    async (policy) => {
      const wrong: unknown[] = [NaN, Infinity, -Infinity, -1, -0.5, 1.5, null, undefined, {}, '1', 2 ** 53, 1e300];
      const tooLarge = [Number.MAX_SAFE_INTEGER, 1e15, 1e12, 12, 1001]; // whole numbers that never fit
      const decided = async (costs: readonly unknown[]): Promise<unknown[]> => {
        let next: unknown;
        const store = new StillStore();
        await using app = await limited(platform, routeWith({ ...policy, cost: () => next as number }), { store });
        const seen: unknown[] = [];
        const answers: [cost: unknown, status: number, expected: number][] = [];
        for (next of costs) {
          const { status, headers, body } = await app.send('/');
          if (wrong.includes(next)) answers.push([next, status, 500]);
          else if (tooLarge.includes(next as number)) answers.push([next, status, 429]);
          else
            seen.push([
              status,
              headers['x-ratelimit-remaining'],
              (body as { retry_after_ms?: number })?.retry_after_ms,
            ]);
          store.advance(1000);
        }
        expect(answers.filter(([, status, expected]) => status !== expected)).toEqual([]);
        return seen;
      };
      const good = [3, 0, 2, 4, 1, 3];
      const bad = [...wrong, ...tooLarge];
      const mixed = good.flatMap((cost, i) => [...Array.from(bad.keys(), (j) => bad[(i * 7 + j) % bad.length]), cost]);
      // A peek takes nothing, and moves the clock as the bad cost in its place does.
      const still = good.flatMap((cost) => [...bad.map(() => 0), cost]);
      const everyNth = (list: unknown[]): unknown[] => list.filter((_, i) => (i + 1) % (bad.length + 1) === 0);
      expect(await decided(mixed)).toEqual(everyNth(await decided(still)));
    },
  );

  it('that can never fit is rejected without Retry-After and with a retry_after of null, and charges nothing', async () => {
    const roomy: Policy = { name: 'roomy', algorithm: 'fixed-window', limit: 5, window: '1h' };
    await using app = await limited(platform, routeWith(roomy, { ...BUCKET, cost: costOf }), {
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

  it('may differ between the policies of a route', async () => {
    const bytes: Policy = { name: 'bytes', algorithm: 'token-bucket', capacity: 1000, refill: '1/m', cost: () => 300 };
    const store = new StillStore();
    await using app = await limited(platform, routeWith(bytes, { ...BUCKET, cost: 2 }), { store });
    await app.send('/');
    expect(store.asked[0]!.map(({ cost }) => cost)).toEqual([300, 2]);
  });
});

describe.each(PLATFORMS)('over %s, a skipIf', (platform) => {
  const internal = ({ query }: QueryRequest): boolean => query.internal === 'yes';

  it.each<[string, NonNullable<Policy['skipIf']>]>([
    ['a function', internal],
    ['an asynchronous function', async (request: QueryRequest) => (await turn(), internal(request))],
  ])('as %s lets requests pass uncounted and without headers', async (_, skipIf) => {
    const store = new StillStore();
    await using app = await limited(platform, routeWith({ ...BUCKET, skipIf }), { store });
    expect(await app.crowd(15, '/?internal=yes')).toEqual({ 200: 15 });
    expect(limitHeaders(await app.send('/?internal=yes'))).toEqual([]);
    expect(store.asked).toEqual([]);
    expect(await app.crowd(15, '/')).toEqual({ 200: 10, 429: 5 });
  });

  it('skips only its own policy', async () => {
    const other: Policy = { name: 'other', algorithm: 'fixed-window', limit: 12, window: '1h' };
    await using app = await limited(platform, routeWith({ ...BUCKET, skipIf: internal }, other), {
      store: new StillStore(),
    });
    expect(await app.crowd(15, '/?internal=yes')).toEqual({ 200: 12, 429: 3 });
  });

  it.each<[string, NonNullable<Policy['skipIf']>]>([
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no idea'))],
  ])('that %s skips nothing, and is logged at most once a second', async (_, skipIf) => {
    const other: Policy = { name: 'other', algorithm: 'fixed-window', limit: 100, window: '1h' };
    const store = new StillStore();
    await using app = await limited(platform, routeWith({ ...BUCKET, name: 'one', skipIf }, other), { store });
    const since = performance.now();
    expect(await app.crowd(15, '/')).toEqual({ 200: 10, 429: 5 });
    expect(expectRationed(app.logs.of('warn'), since)).toContain(
      "skipIf of policy 'one' failed, the request is counted: no idea",
    );
    expect(app.logs.of('error')).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['text', 'oops'],
    ['an object that has no text', Object.create(null)],
    ['a symbol', Symbol('oops')],
  ])('that throws %s skips nothing', async (_, thrown) => {
    const skipIf = (): never => {
      throw thrown;
    };
    await using app = await limited(platform, routeWith({ ...BUCKET, skipIf }), { store: new StillStore() });
    expect(left(await app.send('/'))).toBe(9);
    expect(app.logs.of('warn')).toHaveLength(1);
  });
});
