import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type IdentityResolver,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited, limitHeaders, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const BUCKET: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 10, refill: '1/h' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h', by: 'global' };
const TIER = SetMetadata('tier', 'gold');

interface TestRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  user?: string;
}

const reflector = new Reflector();

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
  @TIER
  @UseGuards(Authentication, RateLimitGuard)
  @RateLimit({ ...BUCKET, by: 'user', scope: 'app' })
  user(): void {}
}

const policy = (more: Partial<Policy> = {}): Policy => ({ ...BUCKET, ...more }) as Policy;

afterEach(() => {
  now = 0;
  jest.restoreAllMocks();
});

describe.each(PLATFORMS)('with the middleware over %s', (platform) => {
  async function open(
    middleware: RateLimitModuleOptions['middleware'],
    more: RateLimitModuleOptions & RateLimitModuleExtras = {},
  ): Promise<HttpApp & { readonly store: StillStore }> {
    const store = new StillStore();
    return Object.assign(
      await limited(platform, Routes, { identity: FROM_HEADERS, store, middleware: middleware!, ...more }),
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

    it('are left out with headers: false, except Retry-After', async () => {
      await using app = await open([policy({ capacity: 1 })], { headers: false });
      for (const [path, status] of [
        ['/tight', 200],
        ['/nothing', 429],
      ] as const) {
        const reply = await app.send(path);
        expect([reply.status, limitHeaders(reply)]).toEqual([status, []]);
        expect(reply.headers['retry-after']).toBe(status === 429 ? '3600' : undefined);
      }
    });
  });

  describe('the functions of its policies', () => {
    it('receive the request without a body, and a class and a handler without metadata', async () => {
      const seen: unknown[] = [];
      const note = ({ url, body }: RateLimitRequest, context: ExecutionContext): number => {
        const tier: unknown = reflector.getAllAndOverride('tier', [context.getHandler(), context.getClass()]);
        const response = context.switchToHttp().getResponse<object>();
        seen.push([context.getType(), url, body, tier, typeof response]);
        return 1;
      };
      await using app = await open([
        policy({
          cost: note,
          skipIf: (...given) => note(...given) === 0,
          by: (...given) => ({ kind: 'user', value: String(note(...given)) }),
        }),
      ]);
      expect((await app.send('/user?a=b')).status).toBe(200);
      expect(seen).toEqual(Array.from({ length: 3 }, () => ['http', '/user?a=b', undefined, undefined, 'object']));
    });

    it('exempt the requests that skipIf selects', async () => {
      const skipIf = ({ url }: RateLimitRequest): boolean => url === '/free';
      await using app = await open([policy({ capacity: 1, skipIf })]);
      expect(await app.crowd(5, '/free')).toEqual({ 200: 5 });
      expect(await app.crowd(5, '/nothing')).toEqual({ 404: 1, 429: 4 });
    });

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

    it.each([undefined, null, false, 0, '', 'route', 'router', 'oops', {}, new Error('oops')])(
      'that throw or reject with %p admit no request beyond the limit of the policy or its fallback',
      async (thrown) => {
        const throwing = (): never => {
          throw thrown;
        };
        const rejecting = (): Promise<never> => Promise.reject(thrown);
        for (const failing of [throwing, rejecting]) {
          // A failed cost function means cost 1. The fallback replaces a failed policy function.
          const none = policy({ capacity: 1 });
          for (const middleware of [[policy({ capacity: 1, cost: failing })], [{ choose: failing, fallback: none }]]) {
            await using app = await open(middleware);
            expect(await app.crowd(3, '/free')).toEqual({ 200: 1, 429: 2 });
          }
        }
      },
    );

    it('that return cost 0 charge nothing in the middleware, and the route charges the request', async () => {
      const own = policy({ scope: 'app', cost: ({ user }) => (user === undefined ? 0 : 1) });
      @Controller()
      class Own {
        @Get('own')
        @UseGuards(Authentication, RateLimitGuard)
        @RateLimit('all')
        own(): void {}
      }
      const { name: _, ...all } = own;
      const options = { store: new StillStore(), policies: { all }, middleware: ['all'], guard: false };
      await using app = await limited(platform, Own, options);
      const replies = [];
      for (let i = 0; i < 3; i++) replies.push(left(await app.send('/own', { headers: { 'X-Token': 'ada' } })));
      expect(replies).toEqual([9, 8, 7]);
    });

    it('may choose the policy by the request', async () => {
      const ofTier = ({ headers }: RateLimitRequest): Policy =>
        policy(headers['x-tier'] === 'gold' ? { name: 'gold', capacity: 3 } : { name: 'free', capacity: 1 });
      await using app = await open([ofTier]);
      expect(await app.crowd(5, '/nothing')).toEqual({ 404: 1, 429: 4 });
      expect(await app.crowd(5, '/nothing', { headers: { 'X-Tier': 'gold' } })).toEqual({ 404: 3, 429: 2 });
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
      ['refuse', 401, 0],
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

    it('may be global, a client, an API key or an address', async () => {
      for (const [by, key] of [
        ['global', 'rl:{global:all}:app:all:'],
        ['client', 'rl:{user:ada}:app:all:'],
        ['api-key', 'rl:{ip:127.0.0.1}:app:all:'],
        ['ip', 'rl:{ip:127.0.0.1}:app:all:'],
      ] as const) {
        await using app = await open([policy({ by })]);
        await app.as('ada', '/nothing');
        expect(app.store.keys).toEqual([expect.stringMatching(new RegExp(`^${key.replace(/[{}]/g, '\\$&')}`))]);
      }
    });
  });

  it('onDecision gets the decisions of the middleware and of the route, each with its handler', async () => {
    const routes: unknown[] = [];
    await using app = await open([policy()], { onDecision: ({ route }) => void routes.push(route) });
    for (const path of ['/nothing', '/tight']) await app.send(path);
    expect(routes).toEqual(['RateLimitMiddleware.use', 'RateLimitMiddleware.use', 'Routes.tight']);
  });

  it('no key, log line or reply contains an API key in plain text', async () => {
    const secret = 'sk_live_9999-SECRET';
    const headers = { 'X-API-Key': secret };
    const everything: string[] = [];
    for (const more of [{ by: 'api-key' }, { by: 'user', onMissingIdentity: 'throw' }, { cost: () => NaN }] as const) {
      await using app = await open([policy({ capacity: 1, ...more })]);
      const replies = [await app.send('/nothing', { headers }), await app.send('/nothing', { headers })];
      everything.push(JSON.stringify(replies), app.logs.text, ...app.store.keys);
    }
    expect(everything.join('\n')).toContain('rl:{key:#');
    expect(everything.join('\n')).not.toContain(secret);
  });

  it.each<[string, RateLimitModuleOptions]>([
    [
      'middleware must be an array of names, or of policies with a name, got an object',
      { middleware: policy() as never },
    ],
    ['middleware must be an array of names, or of policies with a name, got null', { middleware: null as never }],
    [
      'middleware must be an array of names, or of policies with a name, got a policy without a name at [0]',
      { middleware: [{ ...BUCKET, name: undefined }] },
    ],
    ["RateLimitModule, middleware[0]: there is no policy named 'typo'", { middleware: ['typo'] }],
    ['RateLimitModule, middleware[0]: capacity must be', { middleware: [policy({ capacity: 0 })] }],
    ["RateLimitModule, middleware: two policies are named 'all'", { middleware: [policy(), policy()] }],
    [
      'RateLimitModule, middleware: at most one leaky-bucket policy',
      { middleware: [QUEUE, { ...QUEUE, name: 'other' }] },
    ],
    ...(['route', 'controller'] as const).map((scope): [string, RateLimitModuleOptions] => [
      `RateLimitModule, middleware: policy 'all' has scope '${scope}', but a request has no route yet: 'app' is right, or no scope`,
      { middleware: [policy({ scope })] },
    ]),
    [
      "RateLimitModule, middleware: policy 'named' has scope 'route'",
      { policies: { named: { ...policy({ scope: 'route' }), name: 'named' } }, middleware: ['named'] },
    ],
  ])('the boot fails: %s', async (problem, options) => {
    await expect(limited(platform, Routes, options)).rejects.toThrow(problem);
    const imports = [RateLimitModule.forRootAsync({ useFactory: () => options })];
    await expect(start(platform, { imports })).rejects.toThrow(problem);
  });

  it('a policy function that returns a policy without a name causes a logged 500', async () => {
    await using app = await open([() => ({ ...BUCKET, name: undefined })]);
    expect((await app.send('/free')).status).toBe(500);
    expect(app.logs.of('error')[0]).toContain('RateLimitModule, middleware: a policy needs a name, got token-bucket');
    expect(app.store.asked).toEqual([]);
  });
});
