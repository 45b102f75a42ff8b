import { Controller } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';

@Controller()
class Routes {}

const plan = { resolve: () => undefined };
const policies = {
  daily: { algorithm: 'fixed-window', limit: 1, window: '1d', plans: { pro: { limit: 2 } } },
} as const;

it.each<[RateLimitModuleOptions, string[]]>([
  [
    { deadline: 5 },
    [expect.stringContaining("RateLimitModule: deadline is 5 ms; for 5 seconds write '5s'") as unknown as string],
  ],
  [{ deadline: '5ms' }, []],
  [{ deadline: 50 }, []],
  [{ denialCache: 1 }, [expect.stringContaining("denialCache is 1 ms; for 1 second write '1s'") as unknown as string]],
  [{ denialCache: 0 }, []],
  [
    { plan: { ...plan, cacheFor: 60 }, policies },
    [expect.stringContaining("plan.cacheFor is 60 ms; for 60 seconds write '60s'") as unknown as string],
  ],
])('%j warns of durations that were perhaps meant in seconds', async (options, warnings) => {
  await using app = await limited('Express', Routes, { redis: 'redis://127.0.0.1:1', ...options });
  expect(app.logs.of('warn').filter((text) => text.includes('for '))).toEqual(expect.arrayContaining(warnings));
  expect(app.logs.of('warn').filter((text) => text.includes(' ms; for '))).toHaveLength(warnings.length);
});
