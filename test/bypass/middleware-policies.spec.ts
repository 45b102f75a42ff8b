import { type CanActivate, Controller, type ExecutionContext, Get, Injectable, UseGuards } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type IdentityResolver,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimitGuard,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const BUCKET: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 10, refill: '1/h' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h', by: 'global' };

interface TestRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  user?: string;
}

let now = 0;

/** An authentication guard that takes ten seconds. */
@Injectable()
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    now += 10_000;
    const request = context.switchToHttp().getRequest<TestRequest>();
    request.user = request.headers['x-token'];
    return true;
  }
}

@Controller()
class Routes {
  @Get('free')
  free(): void {}

  @Get('tight')
  @RateLimit({ ...BUCKET, name: 'tight', capacity: 2 } as Policy)
  tight(): void {}

  @Get('roomy')
  @RateLimit({ ...BUCKET, name: 'roomy', capacity: 1_000 } as Policy)
  roomy(): void {}

  @Get('later')
  @UseGuards(Authentication, RateLimitGuard)
  @RateLimit({ ...BUCKET, name: 'roomy', capacity: 1_000 } as Policy)
  later(): void {}

  @Get('user')
  @UseGuards(Authentication, RateLimitGuard)
  @RateLimit({ ...BUCKET, name: 'users', by: 'user', scope: 'app' })
  user(): void {}
}

const policy = (more: Partial<Policy> = {}): Policy => ({ ...BUCKET, ...more }) as Policy;

afterEach(() => {
  now = 0;
  jest.restoreAllMocks();
});

describe('with the middleware', () => {
  async function open(
    middleware: RateLimitModuleOptions['middleware'],
    more: RateLimitModuleOptions & RateLimitModuleExtras = {},
  ): Promise<HttpApp & { readonly store: StillStore }> {
    const store = new StillStore();
    return Object.assign(
      await limited('Express', Routes, { identity: FROM_HEADERS, store, middleware: middleware!, ...more }),
      { store },
    );
  }

  describe('the headers', () => {
    it('are those of the policy with the smallest share left, in the middleware or on the route', async () => {
      await using app = await open([policy()]);
      const limits = [];
      for (const path of ['/nothing', '/free', '/roomy', '/tight', '/tight']) {
        const { headers } = await app.send(path);
        limits.push([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]);
      }
      expect(limits).toEqual([
        ['10', '9'],
        ['10', '8'],
        ['10', '7'],
        ['2', '1'],
        ['2', '0'],
      ]);
      const rejected = await app.send('/tight');
      expect([rejected.status, rejected.headers['x-ratelimit-limit']]).toEqual([429, '2']);
      expect(rejected.body).toMatchObject({ policy: 'tight' });
    });

    it("give the reset time of the middleware's policy, however late the guard runs", async () => {
      const [date, monotonic] = [Date.now(), performance.now()];
      jest.spyOn(Date, 'now').mockImplementation(() => date + now);
      jest.spyOn(performance, 'now').mockImplementation(() => monotonic + now);
      const store = new MemoryStore({ clock: () => (date + now) * 1000 });
      await using app = await open([policy()], { guard: false, store });
      const reset = async (path: string): Promise<number> =>
        Number((await app.send(path)).headers['x-ratelimit-reset']);
      const expected = Math.ceil((date + 3_600_000) / 1000);
      expect(await reset('/free')).toBe(expected);
      expect(await reset('/later')).toBe(expected + 3_600);
      expect(now).toBe(10_000);
    });
  });

  describe('the functions of its policies', () => {
    it('give the cost of a request, and an invalid cost answers 500', async () => {
      await using app = await open([policy({ cost: ({ headers }) => Number(headers['x-cost']) })]);
      const cost = (text: string) => app.send('/nothing', { headers: { 'X-Cost': text } });
      expect(left(await cost('4'))).toBe(6);
      const wrong = [];
      for (const text of ['NaN', '-1', '0.5', 'Infinity', '', 'x']) wrong.push((await cost(text)).status);
      expect(wrong).toEqual([500, 500, 500, 500, 404, 500]); // '' is 0
      expect(left(await cost('6'))).toBe(0);
      expect((await cost('7')).status).toBe(429);
    });
  });

  describe('the identity that its policies count', () => {
    const authenticated: IdentityResolver = { kind: 'user', resolve: ({ user }: TestRequest) => user };

    it('is the address before authentication, and the user on a route after it', async () => {
      await using app = await open([policy({ by: 'user' })], { identity: [authenticated], guard: false });
      const ada = { headers: { 'X-Token': 'ada' } };
      for (let i = 0; i < 2; i++) expect((await app.send('/user', ada)).status).toBe(200);
      const tags = app.store.asked.map(([charge]) => charge!.key.replace(/^rl:\{(.*)\}.*$/, '$1'));
      expect(tags).toEqual(['ip:127.0.0.1', 'user:ada', 'ip:127.0.0.1', 'user:ada']);
    });

    it.each([
      ['ip', 404, 1],
      ['reject', 401, 0],
      ['throw', 500, 0],
    ] as const)(
      "follows onMissingIdentity when it is missing: '%s' answers %d",
      async (onMissingIdentity, status, asked) => {
        await using app = await open([policy({ by: 'user' })], { onMissingIdentity });
        expect((await app.send('/nothing')).status).toBe(status);
        expect(app.store.asked).toHaveLength(asked);
        expect((await app.as('ada', '/nothing')).status).toBe(404);
      },
    );
  });

  it.each<[string, RateLimitModuleOptions]>([
    ['with whole paths, got a policy without a name at [0]', { middleware: [{ ...BUCKET, name: undefined }] }],
    ["RateLimitModule, middleware[0]: there is no policy named 'typo'", { middleware: ['typo'] }],
    ['RateLimitModule, middleware[0]: capacity must be', { middleware: [policy({ capacity: 0 })] }],
    ["RateLimitModule, middleware: two policies are named 'all'", { middleware: [policy(), policy()] }],
    [
      'RateLimitModule, middleware: at most one leaky-bucket policy',
      { middleware: [QUEUE, { ...QUEUE, name: 'other' }] },
    ],
    [
      "RateLimitModule, middleware: policy 'all' has scope 'route', but a request has no route yet: 'app' is right, or no scope",
      { middleware: [policy({ scope: 'route' })] },
    ],
  ])('the boot fails: %s', async (problem, options) => {
    await expect(limited('Express', Routes, options)).rejects.toThrow(problem);
  });
});
