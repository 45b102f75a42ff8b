import { describe, expect, it } from '@jest/globals';
import { type Policy, type RateLimitModuleOptions, type RateLimitRequest } from 'nestjs-floodgate';
import { type AppSettings } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { ADA, ask, GUARDED, LIMITS, serve } from '../support/admin-service.js';

const redis = useRedis();
const STORES: [string, () => RateLimitModuleOptions][] = [
  ['the memory store', () => ({})],
  ['Redis', () => ({ redis: redis.server.url, deadline: '10s' })],
];

describe.each(STORES)('the endpoints with %s', (_store, options) => {
  it('tell why a user got a 429, and unblock them', async () => {
    await using http = await serve('Express', options());
    const ride = async (user = ADA.value): Promise<number> =>
      (await http.as(user, '/rides', { method: 'POST' })).status;
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);

    const why = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'POST /rides' });
    expect(why).toMatchObject({ status: 200, body: { identity: 'user:ada-lovelace', isRejected: true } });
    const [daily, all] = why.body.policies;
    expect(daily).toMatchObject({
      policy: 'daily',
      outcome: 'rejected',
      level: { limit: 2, used: 2 },
      decidedBy: 'store',
    });
    expect(Date.parse(why.body.passesAt)).toBeGreaterThan(Date.now());
    expect(all).toMatchObject({ policy: 'all', outcome: 'passes' });
    expect(await ask(http, 'POST', `${LIMITS}/explain`, { identity: 'user:ada-lovelace' })).toMatchObject({
      body: { isRejected: true, route: null, policies: [{ policy: 'daily', isRejected: true }, { policy: 'all' }] },
    });

    // Now: what was counted goes.
    const reset = await ask(http, 'POST', `${LIMITS}/reset`, { identity: ADA, route: 'POST /rides' });
    expect(reset).toMatchObject({ status: 200, body: { cleared: [{ policy: 'daily', scope: 'POST /rides' }] } });
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);

    // For today: another limit.
    const target = { policy: 'daily', identity: ADA };
    const set = await ask(http, 'PUT', `${LIMITS}/overrides`, {
      ...target,
      change: { limit: 4 },
      expiresIn: '24h',
      reason: 'ticket 7',
      author: 'eve',
      ifVersion: 0,
    });
    expect(set).toMatchObject({ status: 200, body: { change: { limit: 4 }, reason: 'ticket 7', author: 'eve' } });
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);
    const { body } = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'Rides.request' });
    expect(body.policies[0]).toMatchObject({
      numbers: { limit: 4, window: '300d' },
      override: { version: set.body.version, reason: 'ticket 7', author: 'eve', isComplete: true },
    });
    expect(await ride('bob')).toBe(201);

    // Two operators at once: the second one reads again.
    const late = await ask(http, 'PUT', `${LIMITS}/overrides`, { ...target, change: { limit: 9 }, ifVersion: 0 });
    expect(late).toMatchObject({
      status: 409,
      body: { error: 'version_conflict', expectedVersion: 0, actualVersion: set.body.version },
    });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/find`, target)).toMatchObject({ status: 200, body: set.body });
    expect(await ask(http, 'GET', `${LIMITS}/overrides`)).toMatchObject({ status: 200, body: { items: [set.body] } });

    const removal = { ...target, author: 'eve', reason: 'done', ifVersion: set.body.version };
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, removal)).toMatchObject({ body: { removed: true } });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, target)).toMatchObject({ status: 404 });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/find`, target)).toMatchObject({
      status: 404,
      body: { statusCode: 404, error: 'not_found', message: expect.stringContaining('no override') },
    });
    const history = await ask(http, 'POST', `${LIMITS}/overrides/history`, target);
    expect(history.body.items).toMatchObject([
      { action: 'removed', reason: 'done' },
      { action: 'set', reason: 'ticket 7' },
    ]);

    // For everybody.
    const everyone = { policy: 'daily', identity: 'everyone' };
    const raised = await ask(http, 'PUT', `${LIMITS}/overrides`, {
      ...everyone,
      change: { limit: 5 },
      expiresIn: '1h',
    });
    expect(raised).toMatchObject({ status: 200, body: { ...everyone, change: { limit: 5 } } });
    expect([await ride('bob'), await ride('bob'), await ride('bob'), await ride('bob'), await ride('bob')]).toEqual([
      201, 201, 201, 201, 429,
    ]);
    expect((await ask(http, 'GET', `${LIMITS}/table?limited=true`)).body.routes[0].policies).toMatchObject([
      { name: 'daily', override: { change: { limit: 5 }, identity: 'everyone' } },
      { name: 'all', override: null },
    ]);
    expect(await ask(http, 'POST', `${LIMITS}/overrides/find`, everyone)).toMatchObject({ body: raised.body });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, everyone)).toMatchObject({ body: { removed: true } });
    for (const path of ['explain', 'reset']) {
      const { identity } = everyone;
      expect(await ask(http, 'POST', `${LIMITS}/${path}`, { identity, route: 'POST /rides' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    }

    // Neither requests nor failures leave the client's name in the log.
    expect(http.logs.text).not.toContain('ada-lovelace');
  });
});

describe('the endpoints', () => {
  it('let nobody in whom the guard does not know, and answer nobody from a cache', async () => {
    await using http = await serve('Express');
    for (const [method, path] of [
      ['GET', 'table'],
      ['POST', 'explain'],
      ['POST', 'reset'],
      ['GET', 'overrides'],
      ['PUT', 'overrides'],
      ['POST', 'overrides/find'],
      ['POST', 'overrides/remove'],
      ['GET', 'overrides/history'],
      ['POST', 'overrides/history'],
    ] as const) {
      const body = method === 'GET' ? undefined : { identity: ADA, policy: 'daily' };
      expect((await ask(http, method, `${LIMITS}/${path}`, body, 'wrong')).status).toBe(403);
      const { status, headers } = await ask(http, method, `${LIMITS}/${path}`, body);
      expect([path, status]).not.toEqual([path, 403]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('are where path says, behind prefix and whatever the versions, and are not limited by defaults', async () => {
    const defaults: Policy[] = [{ name: 'default', algorithm: 'token-bucket', capacity: 1, refill: '1/d' }];
    const settings: AppSettings = {
      configure: (app) => void app.setGlobalPrefix('api').enableVersioning({ type: 0, defaultVersion: '1' }),
    };
    await using http = await serve('Express', { defaults }, { ...GUARDED, path: '/ops/limits' }, settings);
    for (let i = 0; i < 3; i++) {
      const { status, body } = await ask(http, 'GET', 'api/ops/limits/table?limited=true');
      expect(status).toBe(200);
      expect(body.routes.map(({ route }: { route: string }) => route)).toEqual(['POST /rides', 'GET /rides/bare']);
    }
    const gaps = await ask(http, 'GET', 'api/ops/limits/table?limited=false');
    const gap = { handler: 'RateLimitAdminController.table', route: 'GET /ops/limits/table', origin: 'skipped' };
    expect(gaps.body.routes[0]).toMatchObject(gap);
  });

  it('never show an API key', async () => {
    await using http = await serve('Express', {
      policies: { keys: { algorithm: 'fixed-window', limit: 1, window: '1d', by: 'api-key' } },
    });
    const identity = { kind: 'api-key', value: 'secret-of-a-customer' };
    const explained = await ask(http, 'POST', `${LIMITS}/explain`, { identity });
    await ask(http, 'PUT', `${LIMITS}/overrides`, { policy: 'keys', identity, change: { exempt: true } });
    const listed = await ask(http, 'GET', `${LIMITS}/overrides`);
    expect(explained.body.identity).toMatch(/^key:#[\w-]{22}$/);
    expect(listed.body.items).toMatchObject([{ identity: explained.body.identity }]);
    const wrong = await ask(http, 'POST', `${LIMITS}/explain`, { identity, route: 'GET /nowhere' });
    expect(JSON.stringify([explained.body, listed.body, wrong.body]) + http.logs.text).not.toContain('secret-of');
  });

  it('take the author from the request where the application says who makes it', async () => {
    interface Asked {
      readonly operator?: string;
    }
    await using http = await serve(
      'Express',
      {},
      {
        ...GUARDED,
        author: ({ operator }: RateLimitRequest<Asked>, context) =>
          context.getHandler().name === 'setOverride' && context.switchToHttp().getResponse() !== undefined
            ? operator!
            : 'nobody',
      },
    );
    const override = { policy: 'daily', identity: ADA, change: { exempt: true } };
    expect(await ask(http, 'PUT', `${LIMITS}/overrides`, override)).toMatchObject({
      body: { author: 'eve@example.com' },
    });
    expect(await ask(http, 'PUT', `${LIMITS}/overrides`, { ...override, author: 'mallory' })).toMatchObject({
      status: 400,
      body: { message: 'The body: author must be left out: the application says who makes the request' },
    });
    await using nameless = await serve('Express', {}, { ...GUARDED, author: () => undefined as unknown as string });
    expect((await ask(nameless, 'PUT', `${LIMITS}/overrides`, override)).status).toBe(500);
    expect(nameless.logs.of('error').join()).toContain('author must return text, got undefined');
  });
});

describe('while Redis is away, the endpoints', () => {
  it('answer 503 where they need it, and go on explaining', async () => {
    await using http = await serve('Express', { redis: 'redis://127.0.0.1:1' });
    const set = await ask(http, 'PUT', `${LIMITS}/overrides`, { policy: 'daily', identity: ADA, change: { limit: 3 } });
    expect(set).toMatchObject({ status: 503, body: { error: 'rate_limit_unavailable' } });
    expect(set.headers.get('retry-after')).toBe('1');
    expect((await ask(http, 'POST', `${LIMITS}/reset`, { identity: ADA, policy: 'daily' })).status).toBe(503);
    const explained = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'POST /rides' });
    expect(explained).toMatchObject({
      status: 200,
      body: { policies: [{ decidedBy: 'local' }, { decidedBy: 'local' }] },
    });
    expect((await ask(http, 'GET', `${LIMITS}/table`)).status).toBe(200);
  });
});
