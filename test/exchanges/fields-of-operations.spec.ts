import { setImmediate as turn } from 'node:timers/promises';
import { UnauthorizedException } from '@nestjs/common';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { graphqlContext, type Outcome, type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { WebSocket } from 'undici';
import { type Driver, type GraphqlApp, startGraphql } from '../contexts/support/graphql-app.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
const HOURS = { algorithm: 'fixed-window', window: '300d', scope: 'app' } as const;
const LOGINS: Policy = { ...HOURS, name: 'logins', limit: 5 };
const TOKENS: Policy = { ...HOURS, name: 'tokens', limit: 10_000 };

let [counted, settled]: [Outcome[], Outcome[]] = [[], []];
beforeEach(() => {
  [counted, settled] = [[], []];
});

const Failed = (): MethodDecorator =>
  RateLimit({
    ...LOGINS,
    countIf: (outcome) => {
      counted.push(outcome);
      return outcome.error !== undefined || outcome.aborted;
    },
  });
const Spent = (): MethodDecorator =>
  RateLimit({
    ...TOKENS,
    cost: 10,
    settle: (outcome) => {
      settled.push(outcome);
      return outcome.value as number;
    },
  });

function login(password: string): number {
  if (password !== 'right') throw new UnauthorizedException();
  return 1;
}

@Resolver()
class Accounts {
  @Mutation(() => Int, { nullable: true })
  @Failed()
  login(@Args('password') password: string): number {
    return login(password);
  }

  @Query(() => Int, { nullable: true })
  @Failed()
  try(@Args('password') password: string): number {
    return login(password);
  }

  @Mutation(() => Int, { nullable: true })
  @Spent()
  spend(@Args('tokens', { type: () => Int }) tokens: number): number {
    return tokens;
  }
}

const begin = (driver: Driver): Promise<GraphqlApp> =>
  startGraphql(
    driver,
    {
      imports: [RateLimitModule.forRoot({ contexts: [graphqlContext({ count: 'operation' })] })],
      providers: [Accounts],
    },
    { apollo: { subscriptions: { 'graphql-ws': true } }, mercurius: { subscription: { fullWsTransport: true } } },
  );

/** Sends an operation over a WebSocket. */
async function dial(app: GraphqlApp, query: string): Promise<void> {
  const client = createClient({ url: app.url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 });
  for await (const _ of client.iterate({ query }));
  await client.dispose();
}

async function expectLeft(app: GraphqlApp, policy: Policy, count: number): Promise<void> {
  const left = async (): Promise<number> =>
    (await app.http.app.get(RateLimiter).peek(policy, IP)).policies[0]!.remaining;
  await until(`${count} left`, LIMIT_MS / 4, async () => (await left()) === count).catch(() => {});
  for (let i = 0; i < 5; i++) await turn(); // what would come too often comes
  expect(await left()).toBe(count);
}

const fields = (name: string, ...values: readonly string[]): string =>
  values.map((value, i) => `a${i}: ${name}(${value})`).join(' ');
const RIGHT = 'password: "right"';
const WRONG = 'password: "wrong"';

describe.each<[string, Driver, (app: GraphqlApp, query: string) => Promise<unknown>, boolean]>([
  ['over HTTP with Apollo', 'Apollo over Express', (app, query) => app.ask(query), true],
  ['over HTTP with Mercurius', 'Mercurius', (app, query) => app.ask(query), true],
  // Without an answer that ends them all, a field of a mutation has ended when the next one begins, and is charged anew.
  ['over a WebSocket with Apollo', 'Apollo over Express', dial, false],
  ['over a WebSocket with Mercurius', 'Mercurius', dial, false],
])('%s, an operation that is charged once for several fields', (_, driver, send, endsTogether) => {
  it.each([
    ['mutation', 'login', [RIGHT, WRONG, WRONG], endsTogether ? 1 : 2],
    ['query', 'try', [WRONG, RIGHT, WRONG], 1],
  ] as const)(
    'counts where any field of a %s does, and tells of each ending once: %s %j',
    async (operation, field, values, cost) => {
      await using app = await begin(driver);
      for (let i = 1; i <= 2; i++) {
        await send(app, `${operation} { ${fields(field, ...values)} }`);
        await expectLeft(app, LOGINS, 5 - i * cost);
        expect(counted).toHaveLength(3 * i);
      }
      const errors = counted.slice(0, 3).map(({ error }) => (error instanceof Error ? error.message : 'none'));
      expect(errors.toSorted()).toEqual(['Unauthorized', 'Unauthorized', 'none']);
      await send(app, `${operation} { ${fields(field, RIGHT, RIGHT)} }`);
      await until('both have ended', LIMIT_MS, () => counted.length === 8);
      await expectLeft(app, LOGINS, 5 - 2 * cost);
    },
  );

  it('settles what its fields cost together, whichever comes first', async () => {
    await using app = await begin(driver);
    await send(app, `mutation { ${fields('spend', 'tokens: 1', 'tokens: 4', 'tokens: 2')} }`);
    await expectLeft(app, TOKENS, 9_993);
    await send(app, `mutation { ${fields('spend', 'tokens: 3000', 'tokens: 40')} }`);
    await expectLeft(app, TOKENS, 6_953);
    expect(settled.map(({ value }) => value as number).toSorted((a, b) => a - b)).toEqual([1, 2, 4, 40, 3000]);
  });
});
