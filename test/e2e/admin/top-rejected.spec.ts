import { Controller, Get, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  RateLimit,
  RateLimitAdminModule,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { ADMIN_DESK } from '../../../libs/nest/src/admin/admin-controller.js';
import type { AdminDesk } from '../../../libs/nest/src/admin/admin-desk.js';
import { FROM_HEADERS, type HttpApp, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RedisServer } from '../../support/redis-server.js';
import { ask, GUARDED, LIMITS } from '../support/admin-service.js';

@Controller('rides')
class Rides {
  @Post()
  @RateLimit({ name: 'daily', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'user' })
  request(): string {
    return 'ok';
  }

  @Get()
  @RateLimit(
    { name: 'keys', algorithm: 'fixed-window', limit: 1, window: '300d', by: 'api-key' },
    { name: 'tried', algorithm: 'fixed-window', limit: 1, window: '300d', by: 'user', mode: 'shadow' },
  )
  list(): string {
    return 'ok';
  }

  @Get('all')
  @RateLimit({ name: 'all', algorithm: 'fixed-window', limit: 1, window: '300d', by: 'global' })
  all(): string {
    return 'ok';
  }
}

const redis = useRedis();

const topOf = (http: HttpApp) => http.app.get(RateLimiter).stats().topRejected;
const share = (http: HttpApp) => http.app.get<AdminDesk>(ADMIN_DESK, { strict: false }).rejections.share();

describe('over %s', () => {
  const open = (options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    start('Express', {
      imports: [
        RateLimitModule.forRoot({ identity: FROM_HEADERS, ...options }),
        RateLimitAdminModule.register(GUARDED),
      ],
      controllers: [Rides],
    });

  async function post(http: HttpApp, user: string, times: number): Promise<void> {
    for (let i = 0; i < times; i++) await http.as(user, '/rides', { method: 'POST' });
  }

  it('stats() has who was rejected, by which policy and how often: no shadows, no limit of all clients, no API key', async () => {
    await using http = await open();
    expect(topOf(http).identities).toEqual([]);
    await post(http, 'ada', 5);
    await post(http, 'bob', 9);
    await post(http, 'cy', 2); // allowed
    const headers = { 'X-Api-Key': 'sk_live_0123456789' };
    for (let i = 0; i < 3; i++) await http.send('/rides', { headers });
    for (let i = 0; i < 5; i++) await http.as('dan', '/rides/all');
    const top = topOf(http);
    expect(top).toEqual({
      identities: [
        { identity: 'user:bob', policy: 'daily', atLeast: 7, atMost: 7 },
        { identity: 'user:ada', policy: 'daily', atLeast: 3, atMost: 3 },
        { identity: expect.stringMatching(/^key:#[\w-]{22}$/), policy: 'keys', atLeast: 2, atMost: 2 },
      ],
      othersAtMost: 0,
    });
    expect(JSON.stringify(top)).not.toContain('sk_live');
  });

  it('GET top-rejected adds up all processes, which see each other in Redis', async () => {
    const options = { redis: redis.server.url, deadline: '10s', denialCache: 0 } as const;
    await using one = await open(options);
    await using other = await open(options);
    await using third = await open(options);
    await post(one, 'ada', 5); // the two that pass, and 3 rejections
    await post(other, 'ada', 4);
    await post(third, 'bob', 7);
    for (const http of [one, other, third]) await share(http);
    for (const http of [one, other, third]) {
      const { status, headers, body } = await ask(http, 'GET', `${LIMITS}/top-rejected`);
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(body).toEqual({
        processes: 3,
        isComplete: true,
        identities: [
          { identity: 'user:ada', policy: 'daily', atLeast: 7, atMost: 7 },
          { identity: 'user:bob', policy: 'daily', atLeast: 5, atMost: 5 },
        ],
        othersAtMost: 0,
      });
    }
    const keys = await redis.client.keys('rl:{rejected}*');
    expect(keys.toSorted()).toEqual(['rl:{rejected}:ends', 'rl:{rejected}:texts']);
    for (const key of keys) expect(await redis.client.pttl(key)).toBeGreaterThan(50_000);
    expect((await ask(one, 'GET', `${LIMITS}/top-rejected`, undefined, 'nobody')).status).toBe(403);
    expect((await ask(one, 'GET', `${LIMITS}/top-rejected?limit=3`)).status).toBe(400);
  });

  it('writes nothing to Redis while nobody is rejected, and answers alone while Redis is gone', async () => {
    const own = await RedisServer.start();
    await using http = await open({ redis: own.url, deadline: '10s' });
    await post(http, 'ada', 2);
    await share(http);
    const client = new Redis(own.url);
    expect(await client.keys('rl:{rejected}*')).toEqual([]);
    await post(http, 'ada', 3);
    await client.quit();
    await own.stop();
    const { status, body } = await ask(http, 'GET', `${LIMITS}/top-rejected`);
    expect([status, body.processes, body.isComplete]).toEqual([200, 1, false]);
    expect(body.identities).toMatchObject([{ identity: 'user:ada', atLeast: 3 }]);
  });
});
