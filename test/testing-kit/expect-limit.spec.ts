import { AssertionError } from 'node:assert';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  expectLimit,
  overrideRateLimitStore,
  recordDecisions,
  resetLimits,
  type TestIdentity,
  VirtualClock,
} from 'nestjs-floodgate/testing';
import { FROM_HEADERS, PLATFORMS } from '../support/http-app.js';
import { selfSigned } from '../support/self-signed.js';
import { appModule, openApp } from './support/limited-app.js';

const ADA = { user: 'ada' };

/** The error of an expectation that must not hold. */
async function failureOf(expectation: Promise<void>): Promise<AssertionError> {
  const error: unknown = await expectation.then(
    () => new Error('the expectation held'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AssertionError);
  return error as AssertionError;
}

// Fastify: runners/limits.ts, and the policies of the middleware below.
describe('expectLimit', () => {
  let app: INestApplication;
  let clock: VirtualClock;

  beforeEach(async () => {
    ({ app, clock } = await openApp('Express'));
  });
  afterEach(() => app.close());

  it.each([
    ['bucket', 20, 10],
    ['thirds', 2, 3],
    ['single', 1, 3],
    ['dear', 10, 5],
    ['leaky', 4, 10],
  ])('holds for /%s: %d at once, then %d per second', async (path, burst, refill) => {
    await expectLimit(app).get(`/${path}`).as(ADA).toAdmit(burst).perSecond(refill);
  });

  it.each(['window', 'log', 'counter'])('holds for /%s: 5 per minute', async (path) => {
    await expectLimit(app).get(`/${path}`).as(ADA).toAdmit(5).per('1m');
    clock.advance('2m');
    await expectLimit(app).get(`/${path}`).as(ADA).toAdmit(5).perMinute(5);
  });

  it('holds for buckets by the time in which they fill', async () => {
    await expectLimit(app).get('/bucket').as(ADA).toAdmit(20).per('2s');
    await expectLimit(app).get('/leaky').as(ADA).toAdmit(4).per('400ms');
    await expectLimit(app).get('/bucket').as({ user: 'eve' }).toAdmit(20).perMinute(600);
  });

  it('holds in the middle of a window', async () => {
    clock.advance('17s');
    await expectLimit(app).get('/window').as(ADA).toAdmit(5).per('1m');
  });

  it('holds for the tighter one of several policies', async () => {
    await expectLimit(app).get('/both').as(ADA).toAdmit(3).per('1s');
    clock.advance('1s');
    await expectLimit(app).get('/both').as(ADA).toAdmit(3);
    clock.advance('1s');
    await expectLimit(app).get('/both').as(ADA).toAdmit(0); // 9 a day
    clock.advance('24h');
    await expectLimit(app).get('/both').as(ADA).toAdmit(3);
  });

  it('says why it cannot fill a concurrency', async () => {
    const { message } = await failureOf(expectLimit(app).get('/inFlight').as(ADA).toAdmit(2));
    expect(message).toContain(`'in-flight' is a concurrency, in which the requests before have freed their places`);
  });

  it('sends bodies and headers, and takes the status that the handler answers', async () => {
    const login = expectLimit(app).post('/login').headers({ 'X-User-Id': 'ada' });
    await login.body({ password: 'right' }).toAdmit(5);
    resetLimits(app);
    await login.body({ password: 'wrong' }).answering(401).toAdmit(5).per('15m');
  });

  it('makes clients of header identities, and of the function that the test gives', async () => {
    for (const identity of [{ 'api-key': 'k1' }, { 'api-key': 'k2' }, ADA] as TestIdentity[]) {
      await expectLimit(app).get('/window').as(identity).toAdmit(5);
    }
    const byTenant = expectLimit(app, { as: async ({ tenant }) => ({ 'X-User-Id': `${tenant}!` }) });
    await byTenant.get('/window').as({ tenant: 'one' }).toAdmit(5);
    await expectLimit(app).get('/window').as({ user: 'one!' }).toAdmit(0);
  });

  it.each([
    ['too small a burst', 'bucket', 19, undefined, 'request 20 was admitted'],
    ['too large a burst', 'bucket', 21, undefined, 'request 21 was rejected'],
    ['too low a rate', 'bucket', 20, 9, 'was admitted'],
    ['too high a rate', 'bucket', 20, 11, 'was rejected'],
    ['too low a rate of a queue', 'leaky', 4, 9, 'was admitted'],
    ['too high a rate of a bucket of one', 'single', 1, 4, 'was rejected'],
    ['another rate than the window', 'window', 5, 1, "write toAdmit(5).per('...')"],
    ['a window of another length', 'window', 5, 5, "'window' admits 5 per 60000 ms"],
  ])('fails for %s', async (_, path, burst, rate, happened) => {
    const admitted = expectLimit(app).get(`/${path}`).as(ADA).toAdmit(burst);
    const { message } = await failureOf(rate === undefined ? admitted : admitted.perSecond(rate));
    expect(message).toContain(happened);
  });

  it('fails for a route without a limit, and for one that answers otherwise', async () => {
    expect((await failureOf(expectLimit(app).get('/free').toAdmit(1))).message).toContain('the route has no limit');
    expect((await failureOf(expectLimit(app).get('/none').toAdmit(1))).message).toContain('was answered 404');
    const { message } = await failureOf(expectLimit(app).post('/login').toAdmit(1));
    expect(message).toMatch(/was admitted, but answered (401|500): if that is right, write \.answering/);
  });

  it('says what was expected, what happened, the decisions, and where in the test', async () => {
    const { message, stack } = await failureOf(expectLimit(app).get('/window').as(ADA).toAdmit(6));
    expect(
      message.replaceAll(/reset: \d+/g, 'reset: ...').replaceAll(/retry-after: 60, (.*)$/gm, '$1, retry-after: 60'),
    ).toContain(
      [
        "GET /window as { user: 'ada' }",
        '  expected: 6 requests admitted, then request 7 rejected with 429',
        '  happened: request 6 was rejected',
        '',
        "  request 3, clock +0 ms: 200; 'window' (fixed-window) allows, 2 of 5 left",
        "  request 4, clock +0 ms: 200; 'window' (fixed-window) allows, 1 of 5 left",
        "  request 5, clock +0 ms: 200; 'window' (fixed-window) allows, 0 of 5 left",
        "  request 6, clock +0 ms: 429; 'window' (fixed-window) rejects, passes in 60000 ms",
        '  headers of request 6: x-ratelimit-limit: 5, x-ratelimit-remaining: 0, x-ratelimit-reset: ..., retry-after: 60',
      ].join('\n'),
    );
    expect(stack?.split('\n').find((line) => line.includes('    at '))).toContain('expect-limit.spec.ts');
  });

  it('records the decisions', async () => {
    const decisions = recordDecisions(app);
    await expectLimit(app).get('/window').as(ADA).toAdmit(5);
    expect(decisions.all).toHaveLength(6);
    expect(decisions.of('Routes.window')).toEqual(decisions.all);
    expect(decisions.of('Routes.log')).toEqual([]);
    expect(decisions.last).toMatchObject({ source: 'store', decision: { allowed: false, retryAfterMs: 60_000 } });
    decisions.clear();
    expect(decisions.last).toBeUndefined();
    decisions.stop();
    await expectLimit(app).get('/window').as(ADA).toAdmit(0);
    expect(decisions.all).toEqual([]);
  });
});

describe.each(PLATFORMS)('expectLimit over %s, for policies of the middleware', (platform) => {
  it('holds on routes of their own policies, and where there is no route', async () => {
    const address = { name: 'address', algorithm: 'token-bucket', capacity: 4, refill: 2, by: 'user' } as const;
    const { app, clock } = await openApp(platform, { middleware: [address] });
    await expectLimit(app).get('/bucket').as(ADA).toAdmit(4).perSecond(2);
    clock.advance('2s');
    await expectLimit(app).get('/none').as(ADA).answering(404).toAdmit(4).perSecond(2);
    await app.close();
  });
});

it('expectLimit speaks to an application over TLS, which listens already', async () => {
  const { key, cert } = selfSigned();
  const clock = new VirtualClock();
  const builder = overrideRateLimitStore(
    Test.createTestingModule({ imports: [appModule({ identity: FROM_HEADERS })] }),
    clock,
  );
  const testingModule = await builder.compile();
  const app = testingModule.createNestApplication({ httpsOptions: { key, cert }, logger: false });
  await app.listen(0);
  await expectLimit(app).get('/window').as(ADA).toAdmit(5).per('1m');
  await app.close();
});
