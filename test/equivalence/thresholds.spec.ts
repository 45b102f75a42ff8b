import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ThresholdEvent } from '../../libs/floodgate/src/watch/thresholds/threshold-event.js';
import { reachedAt } from '../../libs/floodgate/src/policy/thresholds.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Clock, RateLimitStore } from '../../libs/floodgate/src/stores/store.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';
import { boundPolicy, ToldThresholds } from '../support/told-thresholds.js';

const redis = useRedis();

const inMemory = (clock: Clock): RateLimitStore => new MemoryStore({ clock });
const inRedis = (clock: Clock): RateLimitStore => new RedisStore(redis.client, { clock });

const SECOND = 1_000_000;
const WINDOW = 10 * SECOND;
const MIDNIGHT = 19_900 * 86_400 * SECOND;

/** Requests of some process: a charge, or a reservation that is settled at `final` at once. */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: SECOND }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 * WINDOW }) },
    ),
    pod: fc.nat({ max: 1 }),
    user: fc.nat({ max: 1 }),
    cost: fc.integer({ min: 0, max: 4 }),
    final: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 60 },
);
const levels = fc
  .uniqueArray(fc.constantFrom(0.1, 0.25, 0.5, 0.55, 0.8, 0.9, 1), { minLength: 1, maxLength: 4 })
  .map((all) => all.toSorted((one, other) => one - other));
const limits = fc.integer({ min: 1, max: 12 });

/** Two processes on one store. */
function podsOn(open: (clock: Clock) => RateLimitStore, clock: TestClock, shares: boolean): ToldThresholds[] {
  const first = open(clock.read);
  return [first, shares ? first : open(clock.read)].map((store) => new ToldThresholds(store, clock.read));
}

describe.each([
  ['in memory', inMemory, true],
  ['in Redis', inRedis, false],
] as const)('thresholds %s', (_, open, shares) => {
  it(
    'of a fixed window are told exactly once for each window, identity and level, by an exact count, whatever is refunded',
    async () => {
      const property = fc.asyncProperty(steps, levels, limits, async (history, thresholds, limit) => {
        if (open === inRedis) await redis.client.flushdb();
        const clock = new TestClock(MIDNIGHT);
        const pods = podsOn(open, clock, shares);
        const policy = boundPolicy({ algorithm: 'fixed-window', limit, window: WINDOW / 1000, thresholds });
        const counts = new Map<string, number>();
        const reached = new Set<string>();
        for (const { wait, pod, user, cost, final } of history) {
          clock.now += wait;
          const { engine, charge, told } = bind(pods[pod]!);
          const identity = `user:${user}`;
          const end = clock.now - (clock.now % WINDOW) + WINDOW;
          const place = `${identity} ${end}`;
          const expected: string[] = [];
          const add = (units: number): void => {
            const used = Math.max(0, (counts.get(place) ?? 0) + units);
            counts.set(place, used);
            for (const level of thresholds) {
              const name = `${place} ${level}`;
              if (units <= 0 || Math.min(used, limit) < reachedAt(level, limit) || reached.has(name)) continue;
              reached.add(name);
              expected.push(name);
            }
          };
          const fits = cost <= limit - (counts.get(place) ?? 0);
          if (final === undefined) {
            await engine.decide([charge(policy, identity, cost)]);
            if (fits) add(cost);
          } else {
            const reservation = await engine.reserve([charge(policy, identity, cost, 'reserve')]);
            if (reservation.allowed && fits && cost > 0) {
              add(cost);
              const { policies } = await reservation.settle(final);
              add(policies[0]!.charged - policies[0]!.refunded!);
            }
          }
          const events = [...(await told()), ...(await pods[1 - pod]!.told())];
          expect(events.map(nameOf).toSorted()).toEqual(expected.toSorted());
        }
      });
      await fc.assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each<[string, (limit: number) => Policy]>([
    ['token-bucket', (limit) => ({ algorithm: 'token-bucket', capacity: limit, refill: `${limit}/10s` as never })],
    ['leaky-bucket', (limit) => ({ algorithm: 'leaky-bucket', capacity: limit, drain: `${limit}/10s` as never })],
    ['sliding-window-log', (limit) => ({ algorithm: 'sliding-window-log', limit, window: '10s' })],
    ['sliding-window-counter', (limit) => ({ algorithm: 'sliding-window-counter', limit, window: '10s' })],
  ])(
    'of a %s are told when a request reaches them, and then not for the time in which the limit is granted once',
    async (_name, policyOf) => {
      const property = fc.asyncProperty(steps, levels, limits, async (history, thresholds, limit) => {
        if (open === inRedis) await redis.client.flushdb();
        const clock = new TestClock(MIDNIGHT);
        const pods = podsOn(open, clock, shares);
        const policy = boundPolicy({ ...policyOf(limit), thresholds });
        const last = new Map<string, number>();
        for (const { wait, pod, user, cost } of history) {
          clock.now += wait;
          const { engine, charge, told } = bind(pods[pod]!);
          const identity = `user:${user}`;
          const { decision } = await engine.decide([charge(policy, identity, cost)]);
          const used = limit - decision.policies[0]!.remaining;
          const expected = thresholds.filter((level) => {
            const needed = reachedAt(level, limit);
            const name = `${identity} ${level}`;
            const isReached = decision.allowed && cost > 0 && used >= needed && used - cost < needed;
            const isQuiet = clock.now - (last.get(name) ?? -Infinity) < policy.algorithm.window;
            if (isReached && !isQuiet) last.set(name, clock.now);
            return isReached && !isQuiet;
          });
          expect((await told()).map(({ identity: who, level }) => `${who} ${level}`).toSorted()).toEqual(
            expected.map((level) => `${identity} ${level}`).toSorted(),
          );
        }
      });
      await fc.assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

function nameOf({ identity, level, resetAtMs }: ThresholdEvent): string {
  return `${identity} ${resetAtMs * 1000} ${level}`;
}

function bind(pod: ToldThresholds) {
  return { engine: pod.engine, charge: pod.charge.bind(pod), told: pod.told.bind(pod) };
}
