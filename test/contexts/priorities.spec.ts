import { Int, Query, Resolver } from '@nestjs/graphql';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { type Policy, RateLimit, RateLimiter, RateLimitModule, RateLimitOverrides } from 'nestjs-floodgate';
import { histories } from '../support/property-runs.js';
import { StillStore } from '../support/still-store.js';
import { DRIVERS, type GraphqlApp, startGraphql } from './support/graphql-app.js';

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

/** Which fields of an operation pass while `used` is used, and what is used after it: each class has its own part. */
function expected(fields: readonly Field[], used: number, limit: number): { passed: Field[]; used: number } {
  let charged = 0;
  const passed = fields.filter((field) => {
    const { cost, part } = FIELDS[field];
    if (used + Math.max(cost, charged) > limit || used + cost > limit * part) return false;
    charged = Math.max(cost, charged);
    return true;
  });
  return { passed, used: used + charged };
}

describe.each(DRIVERS)('with %s', (driver) => {
  let app: GraphqlApp;

  beforeAll(async () => {
    app = await startGraphql(driver, {
      imports: [RateLimitModule.forRoot({ store: new StillStore() })],
      providers: [Fields],
    });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  async function passing(fields: readonly Field[]): Promise<Field[]> {
    const { data } = await app.ask(`{ ${fields.join(' ')} }`);
    return fields.filter((field) => (data as Record<string, unknown>)[field] === 1);
  }

  it('gives each field of an operation its own class, in any company', async () => {
    const operation = fc.shuffledSubarray(Object.keys(FIELDS) as Field[], { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 30 }), fc.boolean(), async (all, overridden) => {
        const client = { kind: 'ip', value: '127.0.0.1' };
        await app.http.app.get(RateLimiter).reset('api', client);
        const limit = overridden ? 30 : LIMIT;
        const overrides = app.http.app.get(RateLimitOverrides);
        const target = { policy: 'api', identity: client };
        if (overridden) await overrides.set(target, { limit });
        else await overrides.remove(target);
        let used = 0;
        for (const fields of all) {
          const next = expected(fields, used, limit);
          expect(await passing(fields)).toEqual(next.passed);
          used = next.used;
        }
      }),
      histories(0.5),
    );
  });

  it('lets a field of a lower class run over, and charges the other policy once', async () => {
    const window = { algorithm: 'fixed-window', window: '1h' } as const;
    const shared = { ...API, name: 'shared', limit: 4, else: 'credits' } as const satisfies Policy;

    @Resolver()
    class RunningOver {
      @Query(() => Int, { nullable: true })
      @RateLimit(shared)
      ride(): number {
        return 1;
      }

      @Query(() => Int, { nullable: true })
      @RateLimit({ ...shared, priority: 'estimates' })
      estimate(): number {
        return 1;
      }
    }
    const module = RateLimitModule.forRoot({
      store: new StillStore(),
      policies: { credits: { ...window, limit: 2 } },
    });
    await using own = await startGraphql(driver, { imports: [module], providers: [RunningOver] });
    const ask = async (): Promise<unknown> => (await own.ask('{ ride estimate }')).data;
    for (let i = 0; i < 4; i++) expect(await ask()).toEqual({ ride: 1, estimate: 1 });
    expect(await ask()).toEqual({ ride: null, estimate: null });
    expect(own.http.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'shared', to: 'credits', requests: 2 }]);
  });
});
