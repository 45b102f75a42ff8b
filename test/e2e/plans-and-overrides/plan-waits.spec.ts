import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  type PlanOptions,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Reply } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { LateDatabase, statsOf, untilWaiting } from '../support/late-database.js';
import { planOf, user } from '../support/planned-routes.js';
import { dial, requestFor, roomOf, untilHolds } from '../support/waiting-routes.js';

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;
const DAILY: Policy = { ...WINDOW, name: 'daily', limit: 2, plans: { pro: { limit: 6 } } };
const BUCKET: Policy = {
  name: 'bucket',
  algorithm: 'token-bucket',
  capacity: 2,
  refill: '1/h',
  by: 'user',
  plans: { pro: { capacity: 6 } },
};
const GUARDED: Policy = { ...DAILY, name: 'guarded', blockFor: '1h', blockAfter: 2 };
const CREDITS: Policy = { ...WINDOW, name: 'credits', limit: 1, plans: { pro: { limit: 3 } } };

/** The users whose requests have reached a handler. */
let entered: string[] = [];

@Controller()
class Routes {
  @Get('daily')
  @RateLimit(DAILY)
  daily(): void {
    entered.push('daily');
  }

  @Get('bucket')
  @RateLimit(BUCKET)
  bucket(): void {}

  @Get('guarded')
  @RateLimit(GUARDED)
  guarded(): void {}

  /** A policy without plans that blocks, beside one with plans. */
  @Get('beside')
  @RateLimit({ ...WINDOW, name: 'own', limit: 1, blockFor: '1h', blockAfter: 2 }, { ...DAILY, name: 'beside' })
  beside(): void {}

  @Get('else')
  @RateLimit({ ...WINDOW, name: 'first', limit: 1, else: 'credits' })
  else(): void {}
}

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, a rejection', (kind) => {
  /** The store that all pods of a test share. A function is late after the deadline: Redis has a whole second. */
  const shared = (): RateLimitModuleOptions => ({
    ...storeOf(kind, redis),
    deadline: kind.store === 'Redis' ? '1s' : '1ms',
    policies: { credits: CREDITS },
  });
  const pod = (options: RateLimitModuleOptions, plan: Partial<PlanOptions> = {}): Promise<HttpApp> => {
    entered = [];
    const known = { resolve: planOf, timeout: '30s', ...plan } as const;
    return limited(kind.platform, Routes, { identity: FROM_HEADERS, ...options, plan: known });
  };
  /** Uses a part of the limit of a client whose plan is known. */
  const used = async (options: RateLimitModuleOptions, path: string, requests: number): Promise<void> => {
    await using http = await pod(options);
    const seen = await http.statuses(requests, path, { headers: { 'X-User-Id': 'pro-1' } });
    expect(seen).toEqual(Array.from({ length: requests }, () => 200));
  };
  const headersOf = ({ status, headers }: Reply): unknown[] => [
    status,
    headers['x-ratelimit-limit'],
    headers['x-ratelimit-remaining'],
    headers['retry-after'] !== undefined,
  ];
  const countsOf = (http: HttpApp): unknown => {
    const { requests, allowed, rejected, waiting } = statsOf(http);
    return { requests, allowed, rejected, waiting };
  };

  it.each([
    ['/daily', 3],
    ['/bucket', 0],
  ])('on %s waits for the plan, and the plan decides', async (path, before) => {
    const options = shared();
    await used(options, path, before);
    const database = new LateDatabase();
    const decided: boolean[] = [];
    const onDecision = ({ decision }: DecisionEvent): void => void decided.push(decision.allowed);
    await using http = await pod({ ...options, onDecision }, { resolve: database.resolve });
    // What the stand-in admits passes at once.
    const atOnce = await Promise.all(Array.from({ length: path === '/bucket' ? 2 : 0 }, () => http.as('pro-1', path)));
    expect(atOnce.map(({ status }) => status)).toEqual(atOnce.map(() => 200));
    const waiting = [http.as('pro-1', path), http.as('pro-1', path)];
    await untilWaiting(http, 2);
    database.answer('pro-1', 'pro');
    const replies = (await Promise.all(waiting)).map(headersOf);
    // A bucket of other numbers is another one.
    const left = path === '/bucket' ? [5, 4] : [2, 1];
    expect(replies).toHaveLength(2);
    expect(replies).toEqual(expect.arrayContaining(left.map((remaining) => [200, '6', String(remaining), false])));
    expect(database.asked).toEqual(['pro-1']);
    expect(decided).toEqual([...atOnce, 0, 0].map(() => true));
    const requests = atOnce.length + 2;
    expect(countsOf(http)).toEqual({ requests, allowed: requests, rejected: 0, waiting: 0 });
    expect(roomOf(http.app).places).toBe(0);
  });

  it('of a client without a plan comes once the plan is known', async () => {
    const options = shared();
    const database = new LateDatabase();
    await using http = await pod(options, { resolve: database.resolve });
    expect(await http.statuses(2, '/daily', { headers: { 'X-User-Id': 'eve' } })).toEqual([200, 200]);
    expect(database.asked).toEqual(['eve']); // and not answered
    const third = http.as('eve', '/daily');
    await untilWaiting(http, 1);
    database.answer('eve', undefined);
    expect(headersOf(await third)).toEqual([429, '2', '0', true]);
    expect(countsOf(http)).toEqual({ requests: 3, allowed: 2, rejected: 1, waiting: 0 });
  });

  it('comes at the timeout by the fallback, and then at once', async () => {
    const options = shared();
    await used(options, '/daily', 3);
    const database = new LateDatabase();
    await using http = await pod(options, {
      resolve: database.resolve,
      timeout: kind.store === 'Redis' ? '1200ms' : '100ms',
    });
    expect(headersOf(await http.as('pro-1', '/daily'))).toEqual([429, '2', '0', true]);
    expect(headersOf(await http.as('pro-1', '/daily'))).toEqual([429, '2', '0', true]);
    expect(countsOf(http)).toEqual({ requests: 2, allowed: 0, rejected: 2, waiting: 0 });
    expect(database.asked).toEqual(['pro-1']);
  });

  it('comes at once when the look-up fails', async () => {
    const options = shared();
    await used(options, '/daily', 3);
    const database = new LateDatabase();
    await using http = await pod(options, { resolve: database.resolve });
    const reply = http.as('pro-1', '/daily');
    await untilWaiting(http, 1);
    database.fail('pro-1');
    expect(headersOf(await reply)).toEqual([429, '2', '0', true]);
    expect(countsOf(http)).toEqual({ requests: 1, allowed: 0, rejected: 1, waiting: 0 });
  });

  it('by the numbers of a stand-in counts towards no block, and that by the plan counts once', async () => {
    const options = shared();
    await used(options, '/guarded', 5);
    const database = new LateDatabase();
    await using http = await pod(options, { resolve: database.resolve });
    const waiting = Array.from({ length: 4 }, () => http.as('pro-1', '/guarded'));
    await untilWaiting(http, 4);
    database.answer('pro-1', 'pro');
    // One has room. The second of three rejections begins the block.
    expect((await Promise.all(waiting)).filter(({ status }) => status === 200)).toHaveLength(1);
    const states = await http.app.get(RateLimiter).peek([Routes, 'guarded'], user('pro-1'));
    expect(states.policies[0]!.blockedForMs).toBeGreaterThan(0);

    const one = http.as('eve', '/guarded');
    expect((await one).status).toBe(200);
    expect((await http.as('eve', '/guarded')).status).toBe(200);
    const rejected = http.as('eve', '/guarded');
    await untilWaiting(http, 1);
    database.answer('eve', 'free');
    expect((await rejected).status).toBe(429);
    const eve = await http.app.get(RateLimiter).peek([Routes, 'guarded'], user('eve'));
    expect(eve.policies[0]).not.toHaveProperty('blockedForMs');
  });

  it('by a policy without plans comes at once, and counts towards its block', async () => {
    const database = new LateDatabase();
    await using http = await pod(shared(), { resolve: database.resolve });
    expect(await http.statuses(4, '/beside', { headers: { 'X-User-Id': 'eve' } })).toEqual([200, 429, 429, 429]);
    const { policies } = await http.app.get(RateLimiter).peek([Routes, 'beside'], user('eve'));
    expect(policies[0]).toMatchObject({ policy: 'own', allowed: false });
    expect(policies[0]!.blockedForMs).toBeGreaterThan(0);
    expect(countsOf(http)).toEqual({ requests: 4, allowed: 1, rejected: 3, waiting: 0 });
  });

  it('waits for the plan of the policy that an else names', async () => {
    const database = new LateDatabase();
    await using http = await pod(shared(), { resolve: database.resolve });
    expect(await http.statuses(2, '/else', { headers: { 'X-User-Id': 'pro-1' } })).toEqual([200, 200]);
    const third = http.as('pro-1', '/else');
    await untilWaiting(http, 1);
    database.answer('pro-1', 'pro');
    expect((await third).status).toBe(200);
    expect(await http.statuses(2, '/else', { headers: { 'X-User-Id': 'pro-1' } })).toEqual([200, 429]);
    expect(countsOf(http)).toEqual({ requests: 5, allowed: 4, rejected: 1, waiting: 0 });
  });

  it('of a client that leaves meanwhile charges nothing, and keeps no place', async () => {
    const options = shared();
    await used(options, '/daily', 3);
    const database = new LateDatabase();
    await using http = await pod(options, { resolve: database.resolve });
    const socket = await dial(http.app);
    socket.write(requestFor('/daily', 'pro-1'));
    await untilWaiting(http, 1);
    socket.destroy();
    await untilWaiting(http, 0);
    database.answer('pro-1', 'pro');
    await untilHolds(() => roomOf(http.app).places === 0);
    expect(headersOf(await http.as('pro-1', '/daily'))).toEqual([200, '6', '2', false]);
    expect(entered).toEqual(['daily']);
  });

  it('comes at once where as many requests wait as may', async () => {
    const options = shared();
    await used(options, '/daily', 3);
    const database = new LateDatabase();
    await using http = await pod({ ...options, maxWaitingPerClient: 2 }, { resolve: database.resolve });
    const waiting = [http.as('pro-1', '/daily'), http.as('pro-1', '/daily')];
    await untilWaiting(http, 2);
    expect(headersOf(await http.as('pro-1', '/daily'))).toEqual([429, '2', '0', true]);
    database.answer('pro-1', 'pro');
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
    expect(countsOf(http)).toEqual({ requests: 3, allowed: 2, rejected: 1, waiting: 0 });
  });

  it('becomes a 503 when the application closes', async () => {
    const options = shared();
    await used(options, '/daily', 3);
    await using http = await pod(options, { resolve: new LateDatabase().resolve });
    const reply = http.as('pro-1', '/daily');
    await untilWaiting(http, 1);
    const closed = http.app.close();
    expect((await reply).status).toBe(503);
    await closed;
  });
});
