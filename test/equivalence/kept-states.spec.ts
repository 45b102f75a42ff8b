import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createLimiter } from '../../libs/floodgate/src/index.js';
import { chargeOf } from '../../libs/floodgate/src/charges/policy-charge.js';
import { bindPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { ChargeMode } from '../../libs/floodgate/src/stores/charge.js';
import { receiptsOf } from '../../libs/floodgate/src/stores/receipt.js';
import { givenIoredis } from '../../libs/floodgate/src/stores/redis/clients/ioredis-client.js';
import { RedisOverrideLog } from '../../libs/floodgate/src/stores/redis/override-log.js';
import { RedisReservationLog } from '../../libs/floodgate/src/stores/redis/reservation-log.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

/**
 * The states that processes of an earlier version left in Redis. A rolling deploy has both versions on one Redis, so this version writes
 * the same bytes under the same keys, and decides by theirs as they did. `WRITE_STATES=1` writes the file anew: that is a new
 * format, which STABILITY.md allows in a major version alone.
 */
const FILE = new URL('kept-states.json', import.meta.url);
const SECOND = 1_000_000;
const NOW = 1_800_000_000 * SECOND;

/** Microseconds from `NOW`, and a cost, which is settled at the third number if there is one. */
type Step = readonly [at: number, cost: number, final?: number];
interface History {
  readonly policy: Policy;
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}
const name = 'api';
const many = (count: number, every: number): Step[] => Array.from({ length: count }, (_, i) => [i * every, 1]);
const settled: readonly Step[] = [
  [0, 4, 1],
  [10, 2, 5],
  [20, 1],
];
const LATER: readonly Step[] = [
  [SECOND, 1],
  [SECOND, 2],
  [2 * SECOND, 9, 3],
  [5 * SECOND, 4],
  [60 * SECOND, 5],
];
const HISTORIES: Record<string, History> = {
  'a token bucket': {
    policy: { name, algorithm: 'token-bucket', capacity: 9, refill: '7/s' },
    before: many(9, 3),
    after: LATER,
  },
  'a settled token bucket': {
    policy: { name, algorithm: 'token-bucket', capacity: 9, refill: 2, overdraft: 3 },
    before: settled,
    after: LATER,
  },
  'a token bucket for all clients': {
    policy: { name, algorithm: 'token-bucket', capacity: 9, refill: '1/m', by: 'global' },
    before: many(5, 0),
    after: LATER,
  },
  'a leaky bucket': {
    policy: { name, algorithm: 'leaky-bucket', capacity: 9, drain: '3/s' },
    before: many(6, 10),
    after: LATER,
  },
  'a fixed window': {
    policy: { name, algorithm: 'fixed-window', limit: 9, window: '1m' },
    before: many(8, 1),
    after: LATER,
  },
  'a settled fixed window': {
    policy: { name, algorithm: 'fixed-window', limit: 9, window: '1m', overdraft: 3 },
    before: settled,
    after: LATER,
  },
  'a window from a first request': {
    policy: { name, algorithm: 'fixed-window', limit: 9, window: '1m', align: 'first-request' },
    before: many(8, 1),
    after: LATER,
  },
  'a window of a calendar': {
    policy: { name, algorithm: 'fixed-window', limit: 9, window: { calendar: 'month', timeZone: 'Europe/Berlin' } },
    before: many(8, 1),
    after: LATER,
  },
  'a sliding window log': {
    policy: { name, algorithm: 'sliding-window-log', limit: 9, window: '3s' },
    before: many(8, 400_000),
    after: LATER,
  },
  'a long sliding window log': {
    policy: { name, algorithm: 'sliding-window-log', limit: 300, window: '3s' },
    before: many(200, 10),
    after: LATER,
  },
  'a settled sliding window log': {
    policy: { name, algorithm: 'sliding-window-log', limit: 9, window: '1m' },
    before: settled,
    after: LATER,
  },
  'a sliding window counter': {
    policy: { name, algorithm: 'sliding-window-counter', limit: 9, window: '3s' },
    before: many(12, 500_000),
    after: LATER,
  },
  'a settled sliding window counter': {
    policy: { name, algorithm: 'sliding-window-counter', limit: 9, window: '1m' },
    before: settled,
    after: LATER,
  },
  'a concurrency': {
    policy: { name, algorithm: 'concurrency', limit: 3, lease: '2s' },
    before: many(3, 400_000),
    after: LATER,
  },
  'a block': {
    policy: { name, algorithm: 'fixed-window', limit: 2, window: '1s', blockFor: '4s' },
    before: many(3, 1),
    after: LATER,
  },
  'a block that escalates': {
    policy: {
      name,
      algorithm: 'token-bucket',
      capacity: 2,
      refill: 1,
      blockFor: ['1s', '10s'],
      blockAfter: 2,
    },
    before: [...many(4, 1), [1_100_000, 3], [1_100_001, 3]],
    after: LATER,
  },
};

/** By key: a text's bytes in base64, or the entries of a list. */
type States = Record<string, string | readonly string[]>;
type Kept = Record<string, { readonly states: States; readonly answers: readonly unknown[] }>;

describe('the states of an earlier version', () => {
  const redis = useRedis();
  const clock = new TestClock(NOW);

  /** What each step is answered. */
  async function run({ policy }: History, steps: readonly Step[]): Promise<unknown[]> {
    const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
    const bound = bindPolicy(parsePolicy(policy, 'test'), 'rl', 'app', 'test');
    const answers: unknown[] = [];
    for (const [at, cost, final] of steps) {
      clock.now = NOW + at;
      const mode: ChargeMode = final === undefined ? 'take' : 'reserve';
      const charges = [chargeOf(bound, 'user:ada', cost, mode)];
      const verdict = await store.consume(charges);
      answers.push(
        verdict.charges.map(({ allowed, remaining, resetAfter, retryAfter, delay, blockedFor }) => [
          allowed,
          remaining,
          resetAfter,
          retryAfter,
          delay,
          blockedFor,
        ]),
      );
      if (final === undefined || !verdict.allowed) continue;
      const [receipt] = receiptsOf(charges, verdict);
      answers.push(await store.settle([{ receipt: receipt!, finalCost: final, overdraft: 3 }]));
    }
    // As a file keeps them: Infinity becomes null.
    return JSON.parse(JSON.stringify(answers)) as unknown[];
  }

  async function states(): Promise<States> {
    const keys = (await redis.client.keys('*')).toSorted();
    const read = async (key: string): Promise<States[string]> =>
      (await redis.client.type(key)) === 'list'
        ? redis.client.lrange(key, 0, -1)
        : (await redis.client.getBuffer(key))!.toString('base64');
    return Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await read(key)] as const)));
  }

  const write = process.env['WRITE_STATES'] === '1' || !existsSync(FILE);
  const kept: Kept = write ? {} : (JSON.parse(readFileSync(FILE, 'utf8')) as Kept);

  it('are of the histories below', async () => {
    if (write) {
      for (const [title, history] of Object.entries(HISTORIES)) {
        await redis.client.flushdb();
        await run(history, history.before);
        kept[title] = { states: await states(), answers: await run(history, history.after) };
      }
      writeFileSync(FILE, `${JSON.stringify(kept)}\n`);
    }
    expect(Object.keys(kept)).toEqual(Object.keys(HISTORIES));
  });

  it.each(Object.entries(HISTORIES))('%s: this version writes the same', async (title, history) => {
    await run(history, history.before);
    expect(await states()).toEqual(kept[title]!.states);
  });

  it.each(Object.entries(HISTORIES))('%s: this version decides by it as that one did', async (title, history) => {
    for (const [key, state] of Object.entries(kept[title]!.states)) {
      if (typeof state === 'string') await redis.client.set(key, Buffer.from(state, 'base64'));
      else await redis.client.rpush(key, ...state);
    }
    expect(await run(history, history.after)).toEqual(kept[title]!.answers);
  });

  it('an override counts, and has its place in the history', async () => {
    const body = '{"policy":"api","identity":"user:ada","change":{"capacity":3},"reason":"abuse"}';
    const record = `1795967089545 1795967089545 0 ${body}`;
    const key = (part: string): string => `rl:{overrides}:${part}`;
    await redis.client.hset(key('records'), 'user:ada\napi\n', record);
    await redis.client.zadd(key('versions'), 1_795_967_089_545, 'user:ada\napi\n');
    await redis.client.xadd(key('changes'), '1795967089545-0', 'set', record);
    await redis.client.set(key('version'), '1795967089545');
    const policies = { api: { algorithm: 'token-bucket', capacity: 9, refill: '1/d' } } as const;
    const limiter = await createLimiter({ redis: redis.server.url, deadline: '10s', policies });
    await limiter.start();
    const consumed = await limiter.consume('api', { kind: 'user', value: 'ada' });
    const other = await limiter.consume('api', { kind: 'user', value: 'bob' });
    expect([consumed.policies[0]!.remaining, other.policies[0]!.remaining]).toEqual([2, 8]);
    const log = new RedisOverrideLog({ client: givenIoredis(redis.client) }, key);
    const { records } = await log.history(undefined, 10);
    await limiter.close();
    expect(records).toEqual([
      { removed: false, version: 1_795_967_089_545, setAtMs: 1_795_967_089_545, endsAtMs: 0, body },
    ]);
  });

  it('a reservation that has expired is given back', async () => {
    const key = 'rl:{user:ada}:app:api:tb:9@1/1000000';
    const text = JSON.stringify([1, 'id', [[key, 'token-bucket', 9, '9@1/1000000', NOW, NOW + 4 * SECOND, 4, 1]]]);
    await redis.client.zadd('rl:{reservations-2}', NOW + SECOND, text);
    const log = new RedisReservationLog({ client: givenIoredis(redis.client) }, (part) => `rl:{reservations-${part}}`, {
      read: () => NOW + SECOND,
      maxSkew: 0,
    });
    const { taken, malformed } = await log.takeDue();
    expect([
      malformed,
      taken.map((all) => all.map(({ receipt, finalCost }) => [receipt.key, receipt.cost, finalCost])),
    ]).toEqual([0, [[[key, 4, 1]]]]);
  });
});
