import { Controller } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { codes, DRIVERS } from './support/graphql-app.js';
import { begin } from './support/riders.js';

jest.setTimeout(30_000);

const WINDOW = { algorithm: 'fixed-window', window: '1h', scope: 'app' } as const;
const MONTHLY: Policy = { ...WINDOW, name: 'monthly', limit: 1, else: 'credits' };
const policies = { credits: { ...WINDOW, limit: 2 } };

@Resolver()
@Controller()
class Searches {
  @Query(() => Int, { nullable: true })
  @RateLimit(MONTHLY)
  paid(): number {
    return 1;
  }
}

it.each(DRIVERS)('with %s, an operation runs over as a whole: its fields share the charge', async (driver) => {
  await using app = await begin(driver, { policies }, {}, [Searches]);
  const paid = async (): Promise<unknown[]> => codes(await app.ask('{ a: paid b: paid }'));
  expect([await paid(), await paid(), await paid()]).toEqual([[], [], []]);
  expect(new Set(await paid())).toEqual(new Set(['RATE_LIMITED']));
  expect(app.http.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'credits', requests: 2 }]);
});
