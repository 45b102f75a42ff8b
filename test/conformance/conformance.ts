import { describe, expect, it } from '@jest/globals';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { ChargeVerdict, Clock, RateLimitStore, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

/** Midnight of a day in 2024, in microseconds. The instants of the tables count from it, and every window begins at it. */
export const ORIGIN = 19_900 * 86_400_000_000;
export const MILLISECOND = 1_000;
export const SECOND = 1_000_000;
export const MINUTE = 60 * SECOND;

/** A request's instant in microseconds from `ORIGIN`, its cost, and the expected verdict. */
export type Step = readonly [at: number, cost: number, expected: ChargeVerdict];

export interface Table {
  readonly policy: Policy;
  /** Default 0: every state ahead of the clock is rebased. */
  readonly maxSkewMs?: number;
  readonly steps: readonly Step[];
}

/** The verdict on an allowed request. */
export function pass(remaining: number, resetAfter: number, delay = 0): ChargeVerdict {
  return { allowed: true, remaining, resetAfter, retryAfter: 0, delay };
}

/** The verdict on a rejected request. */
export function reject(remaining: number, resetAfter: number, retryAfter: number): ChargeVerdict {
  return { allowed: false, remaining, resetAfter, retryAfter, delay: 0 };
}

/** The same step for each number from 0: `repeat(20, (i) => [0, 1, pass(19 - i, ...)])`. */
export function repeat(times: number, step: (i: number) => Step): Step[] {
  return Array.from({ length: times }, (_, i) => step(i));
}

/** The module's default prefix: the ACL of a Redis user may allow only these keys. */
const KEY_PREFIX = 'rl:';

/** A store whose clock the test sets. */
export class Timeline {
  private readonly clock = new TestClock(ORIGIN);
  private readonly store: RateLimitStore;

  constructor(open: (clock: TestClock) => RateLimitStore) {
    this.store = open(this.clock);
  }

  /** Decides one request at an instant counted from `ORIGIN`. */
  async ask(at: number, ...charges: [algorithm: Algorithm, cost: number, key?: string][]): Promise<Verdict> {
    this.clock.now = ORIGIN + at;
    return this.store.consume(
      charges.map(([algorithm, cost, key = 'key']) => ({ key: KEY_PREFIX + key, algorithm, cost })),
    );
  }

  /** One charge's verdict. */
  async charge(at: number, algorithm: Algorithm, cost: number, key?: string): Promise<ChargeVerdict> {
    const { charges } = await this.ask(at, [algorithm, cost, key]);
    return charges[0]!;
  }

  async reset(...keys: string[]): Promise<void> {
    await this.store.reset(keys.map((key) => KEY_PREFIX + key));
  }
}

/** A kind of store that runs the suite. */
export interface Kind {
  /** The end of the titles, such as `in memory`. */
  readonly where: string;
  /** Registers hooks in the current `describe`, and returns a function that opens an empty store in a test. */
  readonly use: () => (options: { clock: Clock; maxSkewMs: number }) => RateLimitStore;
}

const EVERY_KIND: readonly Kind[] = [
  { where: 'in memory', use: () => (options) => new MemoryStore(options) },
  {
    where: 'in Redis',
    use: () => {
      const redis = useRedis();
      return (options) => new RedisStore(redis.client, options);
    },
  },
];

let kinds = EVERY_KIND;

/** Runs the suite's files that are imported from now on against this kind alone, such as a server with its own settings. */
export function confineTo(kind: Kind): void {
  kinds = [kind];
}

/** Runs the same tests against every kind of store; each `open` returns a new, empty store. */
export function describeForEveryStore(title: string, tests: (open: (maxSkewMs?: number) => Timeline) => void): void {
  for (const { where, use } of kinds) {
    describe(`${title}, ${where}`, () => {
      const open = use();
      tests((maxSkewMs = 0) => new Timeline(({ read }) => open({ clock: read, maxSkewMs })));
    });
  }
}

/** Registers one test for each table: every store gives exactly the verdicts of the table. */
export function conform(title: string, tables: Readonly<Record<string, Table>>): void {
  describeForEveryStore(title, (open) => {
    it.each(Object.entries(tables))('%s', async (_, { policy, maxSkewMs, steps }) => {
      const algorithm = algorithmOf(policy);
      const timeline = open(maxSkewMs);
      const decided: Step[] = [];
      for (const [at, cost] of steps) decided.push([at, cost, await timeline.charge(at, algorithm, cost)]);
      expect(decided).toEqual(steps);
    });
  });
}
