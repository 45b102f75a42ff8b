import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const SHARED = { by: 'ip', scope: 'app', priorities: { rides: 1, estimates: 0.5 } } as const;
/** Each has room for ten requests. */
const POLICIES: readonly (Policy & typeof SHARED)[] = [
  { ...SHARED, algorithm: 'fixed-window', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'sliding-window-counter', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'sliding-window-log', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'token-bucket', capacity: 10, refill: '1/300d' },
];

function routesOf(policy: Policy & typeof SHARED): Type {
  @Controller()
  class Routes {
    @Get('ride')
    @RateLimit({ ...policy, name: 'api' })
    ride(): void {}

    @Get('estimate')
    @RateLimit({ ...policy, name: 'api', priority: 'estimates' })
    estimate(): void {}
  }
  return Routes;
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) =>
  Object.keys(STORES).flatMap((store) =>
    POLICIES.map((policy) => ({ platform, store, policy, algorithm: policy.algorithm })),
  ),
);

async function passing(app: HttpApp, path: string, times: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i++) passed += Number((await app.send(path)).status === 200);
  return passed;
}

describe.each(KINDS)(
  'a policy of the middleware, which gives a request its first class ($algorithm, $platform, $store)',
  (kind) => {
    const served = (): Promise<HttpApp> =>
      limited(kind.platform, routesOf(kind.policy), {
        ...STORES[kind.store]!(),
        policies: { api: kind.policy },
        middleware: ['api'],
      });

    it('leaves the lower class of the route in force, and charges the request once', async () => {
      await using app = await served();
      expect(await passing(app, '/estimate', 5)).toBe(5);
      expect(await passing(app, '/estimate', 20)).toBe(0);
      // The rejected estimates have cost the reserve of the rides nothing.
      expect(await passing(app, '/ride', 6)).toBe(5);
    });
  },
);
