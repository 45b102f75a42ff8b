import { describe, it } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check';
import { DateTime } from 'luxon';
import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { inTimeZone, bindPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import { useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const redis = useRedis();

/** The days around which the clocks of these zones change. */
const CHANGES = [
  { zone: 'America/New_York', start: '2026-03-07T22:00Z' },
  { zone: 'America/New_York', start: '2026-10-31T22:00Z' },
  { zone: 'Africa/Cairo', start: '2026-04-23T12:00Z' },
  { zone: 'Australia/Lord_Howe', start: '2026-04-03T12:00Z' },
  { zone: 'Europe/Paris', start: '2026-10-24T12:00Z' },
  { zone: 'UTC', start: '2028-02-28T12:00Z' },
] as const;

/** Clients of several zones, which send together, from days around which clocks change. */
const turns = record({
  calendar: constantFrom('day', 'week', 'month'),
  limit: integer({ min: 1, max: 6 }),
  start: constantFrom(...CHANGES.map((change) => change.start)),
  /** How far the clock of the process is from the one that decides. */
  apart: oneof(constantFrom(0), integer({ min: -23 * HOUR, max: 23 * HOUR })),
  steps: array(
    record({
      after: oneof(
        constantFrom(0, 1, HOUR),
        integer({ min: 0, max: 14 * HOUR }),
        integer({ min: 0, max: 9 * 24 * HOUR }),
      ),
      /** Goes to the edge of the last request's window instead, and a few microseconds beyond it. */
      edge: constantFrom(undefined, undefined, -1, 0, 1),
      rows: array(
        record({
          zone: constantFrom(...CHANGES.slice(0, 2).map(({ zone }) => zone), ...CHANGES.map(({ zone }) => zone)),
          cost: integer({ min: 0, max: 3 }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    }),
    { minLength: 1, maxLength: 20 },
  ),
});

/** Makes the algorithm of a process whose clock is wrong: Redis gets the edges around another instant. */
function apart(algorithm: Algorithm, by: number): Algorithm {
  const numbersAt = (now: number): readonly number[] => algorithm.wire.numbersAt!(now + by);
  const wire: unknown = Object.create(algorithm.wire, { numbersAt: { value: numbersAt } });
  return Object.create(algorithm, { wire: { value: wire } }) as Algorithm;
}

describe('windows of a calendar', () => {
  it(
    'are the same in Redis, in memory and in Luxon, over changes of the clocks, for each zone, whatever a process takes for the time',
    async () => {
      const law = asyncProperty(turns, async ({ calendar, limit, start, apart: by, steps }) => {
        await redis.client.flushdb();
        const timeZone = (): string => 'UTC'; // the law says the zones itself
        const parsed = parsePolicy({ algorithm: 'fixed-window', limit, window: { calendar, timeZone } }, 'here');
        const policy = bindPolicy(parsed, 'p', 'GET /', 'here');
        const clock = new TestClock(Date.parse(start) * 1000);
        const inRedis = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
        const inMemory = new MemoryStore({ clock: clock.read });
        const admitted = new Map<string, number>();
        let resetAt = clock.now;
        for (const { after, edge, rows } of steps) {
          clock.now = edge === undefined || resetAt + edge < clock.now ? clock.now + after : resetAt + edge;
          // Requests of one turn travel together, each in the zone of its client.
          const charges = rows.map(({ zone, cost }) => {
            const { algorithm, keyTail } = inTimeZone(policy, zone);
            return { key: `p:{user:ada}${keyTail}`, algorithm, cost };
          });
          const verdicts = charges.map((charge) => inMemory.consume([charge]));
          const answers = charges.map((one) => inRedis.consume([{ ...one, algorithm: apart(one.algorithm, by) }]));
          expectSame(await Promise.all(answers), verdicts);
          for (const [i, { zone, cost }] of rows.entries()) {
            const { allowed, charges: said } = verdicts[i]!;
            const next = DateTime.fromMillis(Math.floor(clock.now / 1000), { zone })
              .startOf(calendar)
              .plus({ [calendar]: 1 })
              .startOf(calendar);
            resetAt = clock.now + said[0]!.resetAfter;
            const about = (): object => ({ zone, clock: clock.now, resetAt, next: next.toISO(), allowed, cost });
            expectHolds(resetAt === next.toMillis() * 1000, about);
            const window = `${zone} ${resetAt}`;
            const before = admitted.get(window) ?? 0;
            expectHolds(allowed === before + (cost || 1) <= limit, about);
            if (allowed) admitted.set(window, before + cost);
          }
        }
      });
      await assert(law, histories(1.5));
    },
    HISTORY_TIMEOUT_MS,
  );
});
