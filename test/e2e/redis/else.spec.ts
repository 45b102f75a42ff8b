import { Controller, Get } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { asUser, FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useFreshRedis } from '../support/fresh-redis.js';

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;
const OWN = { ...WINDOW, name: 'own', limit: 4, else: 'credits' } as const satisfies Policy;

@Controller()
class Routes {
  @Get()
  @RateLimit(OWN)
  get(): void {}

  @Get('closed')
  @RateLimit({ ...OWN, onStoreFailure: 'closed' })
  closed(): void {}
}

const redis = useFreshRedis();

const served = (options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
  limited('Express', Routes, {
    identity: FROM_HEADERS,
    redis: redis.server.url,
    deadline: '10s',
    policies: { credits: { ...WINDOW, limit: 6 } },
    ...options,
  });

it('an else runs over in the local shares while Redis is gone, and answers 503 where the first policy says so', async () => {
  await using app = await served({ localShare: 2 });
  expect((await app.as('ada', '/')).status).toBe(200);
  await redis.server.kill();
  // Half of the limits: 2 of the quota, 3 of the credits.
  expect(await app.statuses(6, '/', asUser('ada'))).toEqual([200, 200, 200, 200, 200, 429]);
  expect((await app.as('ada', '/closed')).status).toBe(503);
  expect(app.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'own', to: 'credits', requests: 3 }]);
  expect(app.logs.of('error')).toEqual([]);
});
