import { Int, Query, Resolver } from '@nestjs/graphql';
import { expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { type Policy, RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { histories } from '../support/property-runs.js';
import { DRIVERS } from './support/graphql-app.js';
import { begin } from './support/riders.js';

jest.setTimeout(60_000);

const LIMIT = 20;
const API = {
  name: 'api',
  algorithm: 'fixed-window',
  limit: LIMIT,
  window: '1h',
  scope: 'app',
  priorities: { rides: 1, searches: 0.8, estimates: 0.5 },
} as const satisfies Policy;
const CLIENT = { kind: 'ip', value: '127.0.0.1' };

/** What each field costs, and the part of the limit that its class may fill. */
const FIELDS = {
  ride: { cost: 3, part: 1 },
  search: { cost: 1, part: 0.8 },
  estimate: { cost: 1, part: 0.5 },
  survey: { cost: 2, part: 0.5 },
} as const;
type Field = keyof typeof FIELDS;

@Resolver()
class Fields {
  @Query(() => Int, { nullable: true })
  @RateLimit({ ...API, cost: FIELDS.ride.cost })
  ride(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...API, priority: 'searches' })
  search(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...API, priority: 'estimates' })
  estimate(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...API, priority: 'estimates', cost: FIELDS.survey.cost })
  survey(): number {
    return 1;
  }
}

/** Which fields of an operation pass while `used` is used, and what is used after it: each class has its own part, each field its cost. */
function expected(fields: readonly Field[], used: number, limit: number): { passed: Field[]; used: number } {
  let charged = used;
  const passed = fields.filter((field) => {
    const { cost, part } = FIELDS[field];
    if (charged + cost > limit * part) return false;
    charged += cost;
    return true;
  });
  return { passed, used: charged };
}

it.each(DRIVERS)(
  'with %s, fields of an operation that cost other than each other, or have other classes, count by themselves',
  async (driver) => {
    await using app = await begin(driver, {}, {}, [Fields]);
    const operation = fc.shuffledSubarray(Object.keys(FIELDS) as Field[], { minLength: 1 });
    const overrides = app.http.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: CLIENT };
    const run = async (all: readonly Field[][], overridden: boolean): Promise<void> => {
      await app.http.app.get(RateLimiter).reset('api', CLIENT);
      if (overridden) await overrides.set(target, { limit: 30 });
      else await overrides.remove(target);
      let used = 0;
      for (const fields of all) {
        const next = expected(fields, used, overridden ? 30 : LIMIT);
        const { data } = await app.ask(`{ ${fields.join(' ')} }`);
        expect(fields.filter((field) => data![field] === 1)).toEqual(next.passed);
        used = next.used;
      }
    };
    // The estimates are rejected first, then the searches, then all.
    const filling = Array.from({ length: 30 }, (): Field[] => ['estimate', 'search', 'ride']);
    await fc.assert(fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 30 }), fc.boolean(), run), {
      ...histories(driver === 'Mercurius' ? 0.3 : 0.05),
      examples: [[filling, false]],
    });
  },
);
