import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const API = {
  name: 'api',
  algorithm: 'fixed-window',
  limit: 10,
  window: '300d',
  by: 'ip',
  scope: 'app',
  priorities: { rides: 1, estimates: 0.5 },
} as const satisfies Policy;

@Controller()
class Routes {
  @Get('ride')
  @RateLimit(API)
  ride(): void {}

  @Get('estimate')
  @RateLimit({ ...API, priority: 'estimates' })
  estimate(): void {}
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

async function passing(app: HttpApp, path: string, times: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i++) passed += Number((await app.send(path)).status === 200);
  return passed;
}

describe.each(KINDS)(
  'a policy of the middleware, which gives a request its first class ($platform, $store)',
  (kind) => {
    const served = (): Promise<HttpApp> =>
      limited(kind.platform, Routes, {
        ...STORES[kind.store]!(),
        policies: { api: { ...API, name: undefined } as Policy },
        middleware: ['api'],
      });

    it('leaves the lower class of the route in force, and charges the request once', async () => {
      await using app = await served();
      expect(await passing(app, '/estimate', 5)).toBe(5);
      expect(await passing(app, '/estimate', 1)).toBe(0);
      expect(await passing(app, '/ride', 5)).toBe(4);
    });
  },
);
