import { setImmediate as turn } from 'node:timers/promises';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { UnauthorizedException } from '@nestjs/common';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { graphqlContext, type Outcome, type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { codes, DRIVERS, type GraphqlApp, startGraphql } from '../contexts/support/graphql-app.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(60_000);

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
const HOURS = { algorithm: 'fixed-window', window: '300d', scope: 'app' } as const;
const LOGINS = { ...HOURS, name: 'logins', limit: 5 } as const;
const TOKENS = { ...HOURS, name: 'tokens', limit: 1_000 } as const;

let [counted, settled]: Outcome[][] = [[], []];
beforeEach(() => {
  [counted, settled] = [[], []];
});

const FAILED: Policy = {
  ...LOGINS,
  countIf: (outcome) => {
    counted!.push(outcome);
    return outcome.error !== undefined || outcome.aborted;
  },
};
const SPENT: Policy = {
  ...TOKENS,
  cost: 10,
  settle: (outcome) => {
    settled!.push(outcome);
    return outcome.value as number;
  },
};

function login(password: string): number {
  if (password !== 'right') throw new UnauthorizedException();
  return 1;
}

@Resolver()
class Accounts {
  @Mutation(() => Int, { nullable: true })
  @RateLimit(FAILED)
  login(@Args('password') password: string): number {
    return login(password);
  }

  @Query(() => Int, { nullable: true })
  @RateLimit(FAILED)
  try(@Args('password') password: string): number {
    return login(password);
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit(SPENT)
  spend(@Args('tokens', { type: () => Int }) tokens: number): number {
    return tokens;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit(SPENT)
  read(@Args('tokens', { type: () => Int }) tokens: number): number {
    return tokens;
  }
}

function begin(driver: (typeof DRIVERS)[number]): Promise<GraphqlApp> {
  const limiter = RateLimitModule.forRoot({ contexts: [graphqlContext({ count: 'operation' })] });
  return startGraphql(driver, { imports: [limiter], providers: [Accounts] });
}

async function left(app: GraphqlApp, policy: typeof LOGINS | typeof TOKENS): Promise<number> {
  return (await app.http.app.get(RateLimiter).peek(policy, IP)).policies[0]!.remaining;
}

async function expectLeft(app: GraphqlApp, policy: typeof LOGINS | typeof TOKENS, count: number): Promise<void> {
  await until(`${count} left`, LIMIT_MS / 4, async () => (await left(app, policy)) === count).catch(() => {});
  expect(await left(app, policy)).toBe(count);
}

/** Waits until the endings are there; a test looks at what they did. */
async function ended(endings: readonly Outcome[], count: number): Promise<void> {
  await until(`${count} endings`, LIMIT_MS / 4, () => endings.length === count).catch(() => {});
  for (let i = 0; i < 5; i++) await turn();
}

const sorted = (values: readonly unknown[]): string[] => values.map(String).toSorted((a, b) => a.localeCompare(b));

const fields = (name: string, ...values: readonly string[]): string =>
  values.map((value, i) => `a${i}: ${name}(${value})`).join(' ');

const RIGHT = 'password: "right"';
const WRONG = 'password: "wrong"';

describe.each(DRIVERS)('with %s, an operation that is charged once for several fields', (driver) => {
  describe.each([
    ['mutation', 'login', 'spend'],
    ['query', 'try', 'read'],
  ])('a %s', (operation, attempt, spend) => {
    it.each([
      ['first', [RIGHT, WRONG, WRONG]],
      ['in the middle', [WRONG, RIGHT, WRONG]],
      ['last', [WRONG, WRONG, RIGHT]],
    ])('counts where any of its fields does: the valid login is %s', async (_, values) => {
      await using app = await begin(driver);
      for (let i = 1; i <= 5; i++) {
        await app.ask(`${operation} { ${fields(attempt, ...values)} }`);
        await ended(counted!, 3 * i);
        await expectLeft(app, LOGINS, 5 - i);
      }
      const rejected = await app.ask(`${operation} { ${fields(attempt, RIGHT)} }`);
      expect(codes(rejected)).toEqual(['RATE_LIMITED']);
    });

    it('tells of the ending of each field once', async () => {
      await using app = await begin(driver);
      await app.ask(`${operation} { ${fields(attempt, RIGHT, WRONG, RIGHT)} }`);
      await ended(counted!, 3);
      const said = counted!.map(({ value, error }) => (error instanceof Error ? error.message : value));
      expect(sorted(said)).toEqual(['1', '1', 'Unauthorized']);
      await app.ask(`${operation} { ${fields(spend, 'tokens: 1', 'tokens: 4', 'tokens: 2')} }`);
      await ended(settled!, 3);
      expect(sorted(settled!.map(({ value }) => value))).toEqual(['1', '2', '4']);
    });

    it('is refunded where none of its fields counts', async () => {
      await using app = await begin(driver);
      for (let i = 1; i <= 7; i++) {
        await app.ask(`${operation} { ${fields(attempt, RIGHT, RIGHT, RIGHT)} }`);
        await ended(counted!, 3 * i);
        await expectLeft(app, LOGINS, 5);
      }
    });

    it('settles at the highest final cost of its fields, once', async () => {
      await using app = await begin(driver);
      await app.ask(`${operation} { ${fields(spend, 'tokens: 1', 'tokens: 4', 'tokens: 2')} }`);
      await ended(settled!, 3);
      await expectLeft(app, TOKENS, 996);
      await app.ask(`${operation} { ${fields(spend, 'tokens: 1', 'tokens: 40', 'tokens: 2')} }`);
      await ended(settled!, 6);
      await expectLeft(app, TOKENS, 956);
    });
  });
});
