import { Int, Query, Resolver } from '@nestjs/graphql';
import { expect, it } from '@jest/globals';
import { type DecisionEvent, type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS } from './support/graphql-app.js';
import { begin } from './support/riders.js';

// test/exchanges proves that a client that leaves gives its slot back.

/** One slot each 50 ms. */
const QUEUE: Policy = { name: 'queue', scope: 'app', algorithm: 'leaky-bucket', capacity: 2, drain: '20/s' };

@Resolver()
class Handlers {
  @Query(() => Int)
  @RateLimit(QUEUE)
  one(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit(QUEUE)
  two(): number {
    return 2;
  }
}

/** The delays of all decisions, on a clock that stands still; `null` for a rejection. */
function noted(): { delays: (number | null)[]; options: RateLimitModuleOptions } {
  const delays: (number | null)[] = [];
  const onDecision = ({ decision }: DecisionEvent): void =>
    void delays.push(decision.allowed ? decision.delayMs : null);
  return { delays, options: { store: new StillStore(), onDecision } };
}

/** What comes at once: one passes, two wait, and the fourth does not fit. */
const EXPECTED = [0, 50, 100, null];

it.each(DRIVERS)('with %s, a queue delays an operation once, and rejects what does not fit', async (driver) => {
  const { delays, options } = noted();
  await using app = await begin(driver, options, {}, [Handlers]);
  const begun = performance.now();
  const replies = await Promise.all(Array.from({ length: 4 }, () => app.ask('{ one two more: one }')));
  expect(performance.now() - begun).toBeGreaterThanOrEqual(99);
  expect(delays).toEqual(EXPECTED);
  expect(replies.filter(({ data }) => data?.['two'] === 2)).toHaveLength(3);
  expect(new Set(replies.flatMap(codes))).toEqual(new Set(['RATE_LIMITED']));
});
