import { NestFactory } from '@nestjs/core';
import { describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Decision,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RedisStore,
} from 'nestjs-floodgate';
import type { Textbook } from '../../libs/textbook/textbook.js';
import type { Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { textbookOf } from '../support/textbook-of.js';

const ADA = { kind: 'user', value: 'ada' };
const NAMES = ['fixed-window', 'token-bucket', 'sliding-window-log', 'sliding-window-counter'] as const;

/** One request: of the first row alone, or of all rows. */
interface Asked {
  readonly move: Move;
  readonly cost: Cost;
  readonly isOfAll: boolean;
}

interface History {
  readonly start: number;
  /** The policies of each row, the first one first. A row of one has no `else`. */
  readonly rows: readonly (readonly Policy[])[];
  readonly requests: readonly Asked[];
}

const policies = fc.constantFrom(...NAMES).chain(policyOf);
/** A leaky bucket may be the first policy of a row: its requests wait. At most one policy of a request may. */
const firstRow = fc.oneof(
  { weight: 4, arbitrary: fc.array(policies, { minLength: 2, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(policyOf('leaky-bucket'), fc.array(policies, { minLength: 1, maxLength: 3 }))
      .map(([first, rest]) => [first, ...rest]),
  },
);
const historiesOfRows: fc.Arbitrary<History> = fc.record({
  start: starts,
  rows: fc
    .tuple(firstRow, fc.array(fc.array(policies, { minLength: 1, maxLength: 4 }), { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest]),
  requests: fc.array(fc.record({ move: forwards, cost: costs, isOfAll: fc.boolean() }), {
    minLength: 1,
    maxLength: 25,
  }),
});

/** The names of a row: `r0.0`, whose `else` is `r0.1`, and so on. */
function namesOf(row: readonly Policy[], r: number): string[] {
  return row.map((_, i) => `r${r}.${i}`);
}

function named(rows: History['rows']): Record<string, Policy> {
  const all: Record<string, Policy> = {};
  for (const [r, row] of rows.entries()) {
    const names = namesOf(row, r);
    for (const [i, policy] of row.entries()) {
      all[names[i]!] = { ...policy, ...(i + 1 < row.length && { else: names[i + 1]! }) };
    }
  }
  return all;
}

/** What a row says to a request: the policy that takes it, or the one that has room first. */
interface Said {
  readonly policy: number;
  readonly allowed: boolean;
  readonly retryAfter: number;
}

/** The oracle: each row's first textbook that the request fits takes it, if every row has one. */
class Oracle {
  private readonly books: readonly (readonly Textbook[])[];

  constructor(rows: History['rows']) {
    this.books = rows.map((row) => row.map((policy) => textbookOf(algorithmOf(policy))));
  }

  ask(at: number, cost: number, rows: number): { said: readonly Said[]; delay: number } {
    const asked = this.books.slice(0, rows);
    const said = asked.map((row) => saidOf(row, at, cost || 1));
    if (!said.every(({ allowed }) => allowed)) return { said, delay: 0 };
    const delays = asked.map((row, r) => row[said[r]!.policy]!.ask(at, cost).delay);
    return { said, delay: Math.max(...delays) };
  }
}

function saidOf(row: readonly Textbook[], at: number, cost: number): Said {
  const taking = row.findIndex((book) => book.fits(at, cost));
  if (taking >= 0) return { policy: taking, allowed: true, retryAfter: 0 };
  const waits = row.map((book) => book.retryAfter(at, cost));
  const retryAfter = Math.min(...waits);
  return { policy: waits.indexOf(retryAfter), allowed: false, retryAfter };
}

/** What a decision says, in the oracle's words. */
function toldBy({ allowed, policies: told, retryAfterMs, delayMs }: Decision): object {
  return {
    allowed,
    policies: told.map((one) => ({
      policy: one.policy,
      allowed: one.allowed,
      insteadOf: one.insteadOf,
      retryAfter: microseconds(one.retryAfterMs),
    })),
    retryAfter: microseconds(retryAfterMs),
    delay: microseconds(delayMs),
  };
}

function microseconds(ms: number | null): number {
  return ms === null ? Infinity : Math.round(ms * 1000);
}

function namesIn({ allowed, policies: told }: Decision): object {
  return { allowed, names: told.map(({ policy, insteadOf }) => [policy, insteadOf]) };
}

type Ask = (limiter: RateLimiter, what: readonly string[], cost: number, i: number) => Promise<Decision> | Decision;

/** The decisions of a history are the oracle's, one by one, and what ran over is counted. */
async function expectTheOracles(history: History, options: RateLimitModuleOptions, clock: MovingClock, ask: Ask) {
  const { rows, requests } = history;
  const module = RateLimitModule.forRoot({ ...options, policies: named(rows) });
  await using app = await opened(module);
  const { limiter } = app;
  const oracle = new Oracle(rows);
  const first = algorithmOf(rows[0]![0]!);
  const ranOver = new Map<string, number>();
  let verdicts: Verdict[] = [];
  for (const [i, { move, cost: given, isOfAll }] of requests.entries()) {
    clock.move(move, first, verdicts);
    const asked = isOfAll ? rows.length : 1;
    const cost = costFor(first, given);
    const names = rows.slice(0, asked).map((row, r) => namesOf(row, r));
    const decision = await ask(
      limiter,
      names.map((row) => row[0]!),
      cost,
      i,
    );
    const { said, delay } = oracle.ask(clock.now, cost, asked);
    const allowed = said.every((one) => one.allowed);
    expectSame(toldBy(decision), {
      allowed,
      policies: said.map((one, r) => ({
        policy: names[r]![one.policy]!,
        allowed: one.allowed,
        insteadOf: one.policy === 0 ? undefined : names[r]![one.policy - 1]!,
        retryAfter: one.retryAfter,
      })),
      retryAfter: allowed ? 0 : Math.max(...said.map(({ retryAfter }) => retryAfter)),
      delay,
    });
    for (const [r, one] of said.entries()) {
      if (!allowed || cost === 0 || one.policy === 0) continue;
      const pair = `${names[r]![0]} to ${names[r]![one.policy]}`;
      ranOver.set(pair, (ranOver.get(pair) ?? 0) + 1);
    }
    verdicts = [
      { allowed, at: clock.now, charges: said.map((one) => ({ ...one, remaining: 0, resetAfter: 0, delay })) },
    ];
  }
  const counted = limiter
    .stats()
    .runOver.map(({ policy, to, requests: times }) => [`${policy} to ${to}`, times] as const);
  expectSame(new Map(counted), ranOver);
}

async function opened(module: ReturnType<typeof RateLimitModule.forRoot>) {
  const context = await NestFactory.createApplicationContext(module, { logger: false });
  return { limiter: context.get(RateLimiter), [Symbol.asyncDispose]: () => context.close() };
}

const redis = useRedis();

describe('a request that does not fit a policy is charged to the first one of its row that it fits, as textbooks in a row', () => {
  it(
    'in memory, with and without a promise, and as it was peeked',
    async () => {
      const law = fc.asyncProperty(historiesOfRows, async (history) => {
        const clock = new MovingClock(history.start, 0);
        const store = new MemoryStore({ clock: clock.read, maxSkew: 0 });
        await expectTheOracles(history, { store }, clock, async (limiter, what, cost, i) => {
          const peeked = await limiter.peek(what, ADA);
          const decision =
            i % 2 === 0 ? limiter.consumeSync(what, ADA, { cost }) : await limiter.consume(what, ADA, { cost });
          if (cost <= 1) expectSame(namesIn(peeked), namesIn(decision));
          return decision;
        });
      });
      await fc.assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it(
    'in Redis',
    async () => {
      const law = fc.asyncProperty(historiesOfRows, async (history) => {
        await redis.client.flushdb();
        const clock = new MovingClock(history.start, 0);
        const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
        await expectTheOracles(history, { store, denialCache: 0, deadline: '10s' }, clock, (limiter, what, cost) =>
          limiter.consume(what, ADA, { cost }),
        );
      });
      await fc.assert(law, histories(0.5));
    },
    HISTORY_TIMEOUT_MS,
  );
});
