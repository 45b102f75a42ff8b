import { type ArgumentsHost, Controller, Get, Header, Inject, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Decision,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS } from '../../support/http-app.js';
import { expectProblem } from '../../support/problem-details.js';
import { StillStore } from '../../support/still-store.js';
import { ToldStore } from '../../support/told-store.js';

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
const ONE = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/7s' } as const;

@Controller()
class Routes {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  @Get('limited')
  @Header('Content-Type', 'text/plain')
  @RateLimit(
    ONE,
    { name: 'roomy', algorithm: 'fixed-window', limit: 100, window: '1d' },
    { name: 'also', algorithm: 'fixed-window', limit: 1, window: '1s' },
  )
  limited(): string {
    return 'passed';
  }

  @Post('never')
  @RateLimit({ ...ONE, cost: () => 2 })
  never(): void {}

  @Get('user')
  @RateLimit({ ...ONE, by: 'user', onMissingIdentity: 'reject' })
  user(): void {}

  @Get('thrown')
  @SkipRateLimit()
  @Header('Content-Type', 'text/html')
  async thrown(): Promise<string> {
    const decision = await this.limiter.consume('mails', { kind: 'user', value: 'ada' });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return 'sent';
  }
}

describe.each(PLATFORMS)('over %s, with problem: true', (platform) => {
  const open = (options: RateLimitModuleOptions = {}) =>
    limited(platform, Routes, {
      store: new StillStore(),
      identity: FROM_HEADERS,
      policies: { mails: { algorithm: 'token-bucket', capacity: 1, refill: '1/m' } },
      problem: true,
      ...options,
    });

  it('a 429 of the guard is a problem of the type quota-exceeded', async () => {
    await using app = await open();
    expect((await app.send('/limited')).text).toBe('passed');
    const reply = await app.send('/limited');
    expectProblem(reply);
    expect(reply.body).toEqual({
      type: QUOTA_EXCEEDED,
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Too many requests, retry in 7 seconds',
      'violated-policies': ['one', 'also'],
      'retry-after': 7,
      'retry-after-ms': 7000,
    });
  });

  it('a 429 that the application throws is one, whatever content type its route has', async () => {
    await using app = await open();
    expect((await app.send('/thrown')).headers['content-type']).toMatch('text/html');
    const reply = await app.send('/thrown');
    expectProblem(reply);
    expect(reply.body).toMatchObject({ type: QUOTA_EXCEEDED, 'violated-policies': ['mails'], 'retry-after': 60 });
  });

  it('a 429 of the middleware is one, also for a path without a route', async () => {
    await using app = await open({ middleware: [{ ...ONE, name: 'all' }] });
    await app.send('/nothing');
    for (const path of ['/nothing', '/limited']) {
      const reply = await app.send(path);
      expectProblem(reply);
      expect(reply.body).toMatchObject({ type: QUOTA_EXCEEDED, 'violated-policies': ['all'] });
    }
  });

  it('a 503 is a problem of the type temporary-reduced-capacity', async () => {
    await using app = await open({ store: ToldStore.failing(), onStoreFailure: 'closed' });
    for (const path of ['/limited', '/thrown']) {
      const reply = await app.send(path);
      expectProblem(reply);
      expect(reply.body).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'The rate limit could not be checked',
        'violated-policies': [],
        'retry-after': 1,
      });
    }
  });

  it('a 401 is a problem without a type of its own', async () => {
    await using app = await open();
    const reply = await app.send('/user');
    expectProblem(reply);
    expect(reply.body).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'The request has no identity that the rate limit counts',
      policy: 'one',
    });
  });
});

describe.each(PLATFORMS)('over %s, with a function as problem', (platform) => {
  const open = (problem: unknown) =>
    limited(platform, Routes, {
      store: new StillStore(),
      identity: FROM_HEADERS,
      policies: { mails: { algorithm: 'token-bucket', capacity: 1, refill: '1/m' } },
      deadline: 20,
      problem: problem as never,
    });

  it('a 429 has its members; it gets the decision, the request and the context', async () => {
    await using app = await open(
      ({ policies, retryAfterMs }: Decision, { url }: RateLimitRequest, context: ArgumentsHost) => ({
        type: 'https://api.example/problems/slow-down',
        title: 'Slow down',
        status: 429,
        detail: `${context.getType()} ${url}, ${policies.length} policies`,
        // A platform takes a body with this member for one of Nest, and changes its content type.
        statusCode: 429,
        in: retryAfterMs,
      }),
    );
    for (const [path, count, ms] of [
      ['/limited', 3, 7000],
      ['/thrown', 1, 60_000],
    ] as const) {
      await app.send(path);
      const { status, headers, body } = await app.send(path);
      expect([status, headers['content-type']]).toEqual([429, expect.stringMatching(/^application\/problem\+json/)]);
      expect(headers['retry-after']).toBe(String(ms / 1000));
      expect(body).toMatchObject({ title: 'Slow down', detail: `http ${path}, ${count} policies`, in: ms });
    }
  });

  const endless: Record<string, unknown> = {};
  endless.self = endless;

  it.each<[string, () => unknown]>([
    ['returns what JSON cannot represent', () => endless],
    ['returns what becomes text', () => ({ toJSON: () => 'text' })],
  ])('the answer is the standard problem when it %s', async (_, problem) => {
    await using app = await open(problem);
    await app.send('/limited');
    const reply = await app.send('/limited');
    expectProblem(reply);
    expect(reply.body).toMatchObject({ type: QUOTA_EXCEEDED, 'violated-policies': ['one', 'also'] });
    expect(app.logs.of('warn')).toEqual([
      expect.stringMatching(/^The problem function failed, the answer has the standard members: .+/),
    ]);
    expect(app.app.get(RateLimiter).stats().functionFailures.problem).toBe(1);
    expect(app.logs.of('error')).toEqual([]);
  });
});
