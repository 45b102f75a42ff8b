import { expect, it } from '@jest/globals';
import { createLimiter } from 'floodgate';
import { ipIdentity, type RateLimitRequest } from 'floodgate/http';
import { type HonoLimitRequest, rateLimit } from 'floodgate/hono';
import { Hono } from 'hono';
import { until } from '../support/faults/until.js';
import { CapturedLogs } from '../support/http-app.js';

const ONE = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '1d' } as const;
const FROM_CDN = { identity: [ipIdentity({ header: 'CF-Connecting-IP' })] };
const from = (address: string): RequestInit => ({ headers: { 'CF-Connecting-IP': address } });

/** An application as an edge runtime calls it: with a request of the web, and nothing of Node. */
async function edge(...limit: [policy?: object, options?: object]): Promise<Hono> {
  const [policy = ONE, options = FROM_CDN] = limit;
  const limiter = await createLimiter({ logger: new CapturedLogs() });
  const app = new Hono();
  app.use(async (context, next) => {
    context.set('user' as never, 'rider-1' as never);
    await next();
  });
  app.use(rateLimit(limiter, policy as typeof ONE, options));
  app.get('/fails', () => {
    throw new Error('no');
  });
  app.get('/error', () => Response.error());
  app.get('/fetched', () => fetch('data:application/json,{}'));
  app.get('/:status', (context) => new Response('{}', { status: Number(context.req.param('status')) }));
  app.onError((error, context) => context.text(error.message, 500));
  return app;
}

it('counts the address that a CDN names, and sets headers on responses of any kind', async () => {
  const app = await edge();
  const first = await app.request('/200', from('203.0.113.7'));
  expect([first.status, first.headers.get('X-RateLimit-Remaining')]).toEqual([200, '0']);
  const second = await app.request('/200', from('203.0.113.7'));
  expect([second.status, second.headers.get('Retry-After')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect((await app.request('/200', from('203.0.113.8'))).status).toBe(200);
});

it('sets headers on a response of fetch, which cannot be changed', async () => {
  const answer = await (await edge()).request('/fetched', from('203.0.113.7'));
  expect([answer.status, answer.headers.get('X-RateLimit-Remaining'), await answer.text()]).toEqual([200, '0', '{}']);
});

it('leaves a response alone that can neither be changed nor made anew, such as that of an upgrade', async () => {
  expect((await (await edge()).request('/error', from('203.0.113.7'))).type).toBe('error');
});

it('ends a request whose client leaves while it waits', async () => {
  const limiter = await createLimiter({ logger: new CapturedLogs() });
  await using _ = { [Symbol.asyncDispose]: () => limiter.close() };
  const places = { name: 'places', algorithm: 'concurrency', limit: 1, lease: '1h', by: 'global' } as const;
  const queue = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1, drain: '1/h', by: 'global' } as const;
  const app = new Hono().use(rateLimit(limiter, [places, queue])).get('/', (context) => context.text('Hello!'));
  expect((await app.request('/')).status).toBe(200);
  const leaving = new AbortController();
  const waiting = app.request(new Request('http://localhost/', { signal: leaving.signal }));
  await until('it waits', 5_000, () => limiter.stats().waiting === 1);
  expect(limiter.stats().leases).toEqual([{ policy: 'places', held: 1 }]);
  leaving.abort();
  expect((await waiting).status).toBe(503);
  expect(limiter.stats().leases).toEqual([{ policy: 'places', held: 0 }]);
});

it('says what is missing where a request has no address', async () => {
  const app = await edge(ONE, {});
  const answer = await app.request('/200');
  expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining('give identity, such as')]);
});

it('settles a request when its handler has returned or thrown', async () => {
  const app = await edge({ ...ONE, countIf: ({ status }: { status: number | undefined }) => status === 500 });
  // What counts nothing is given back once its answer is there.
  for (const path of ['/200', '/401', '/200']) {
    await until('it passes', 5_000, async () => (await app.request(path, from('203.0.113.7'))).status !== 429);
  }
  await until(
    'the failure counts',
    5_000,
    async () => (await app.request('/fails', from('203.0.113.7'))).status === 500,
  );
  expect((await app.request('/200', from('203.0.113.7'))).status).toBe(429);
});

it('takes no binding of a Worker for a request of Node', async () => {
  const app = await edge();
  const statuses = [200, 429, 429];
  for (const incoming of [{}, { headers: {} }, () => 'a stub of a service']) {
    expect((await app.request('/200', from('203.0.113.7'), { incoming })).status).toBe(statuses.shift());
  }
});

it("gives functions Hono's own context, and its user", async () => {
  const asked: unknown[] = [];
  const by = (request: RateLimitRequest & HonoLimitRequest): object => {
    asked.push(request.context.req.method, request.user);
    return { kind: 'tenant', value: request.headers['x-tenant'] };
  };
  const app = await edge({ ...ONE, by }, {});
  expect((await app.request('/200', { headers: { 'X-Tenant': 'a' } })).status).toBe(200);
  expect((await app.request('/200', { headers: { 'X-Tenant': 'a' } })).status).toBe(429);
  expect(asked.slice(0, 2)).toEqual(['GET', 'rider-1']);
});
