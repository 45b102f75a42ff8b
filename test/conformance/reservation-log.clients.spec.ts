import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ALGORITHM_NAMES, algorithmOfRate } from '../../libs/floodgate/src/algorithms/algorithms.js';
import type { ProgramRunner } from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { givenIoredis } from '../../libs/floodgate/src/stores/redis/clients/ioredis-client.js';
import { RedisReservationLog, type ReservationBounds } from '../../libs/floodgate/src/stores/redis/reservation-log.js';
import type { Clock } from '../../libs/floodgate/src/stores/store.js';
import type { Timer } from '../../libs/floodgate/src/stores/timer.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { policyOf } from '../support/arbitrary-policies.js';
import { histories } from '../support/property-runs.js';
import { until } from '../support/faults/until.js';
import { expiryOf, timeOf, useRedis } from '../support/redis-fixture.js';
import { settlement } from './reservation-logs.js';

const redis = useRedis();
const KEYS = 4;

let prefix: string;
beforeEach(() => {
  prefix = `t${randomUUID().slice(0, 8)}`;
});

const keyOf = (part: string): string => `${prefix}:{reservations-${part}}`;
const keys = Array.from({ length: KEYS }, (_, i) => String(i));

function openLog(
  clock?: { read: Clock; maxSkew: number },
  bounds: ReservationBounds = { entries: 1_000, taken: 64 },
): RedisReservationLog {
  return new RedisReservationLog({ client: givenIoredis(redis.client) }, keyOf, clock, bounds);
}

/** What is in the log, without the marks of claims. */
const entries = async (): Promise<string[]> =>
  (await Promise.all(keys.map((part) => redis.client.zrangebyscore(keyOf(part), 0, '+inf')))).flat();

it.each(ALGORITHM_NAMES.filter((name) => name !== 'concurrency'))(
  '%s is made again from its name, limit and rate, whatever the policy',
  (name) => {
    fc.assert(
      fc.property(policyOf(name), fc.integer({ min: 1, max: 7 }), (policy, parts) => {
        const whole = algorithmOf(policy);
        for (const algorithm of [whole, whole.shares.of(parts, 1)]) {
          const again = algorithmOfRate(algorithm.name, algorithm.limit, algorithm.rate)!;
          expect(again.wire.numbers).toEqual(algorithm.wire.numbers);
          expect([again.wire.program, again.code]).toEqual([algorithm.wire.program, algorithm.code]);
          expect(again.refunds!.unit).toBe(algorithm.refunds!.unit);
        }
      }),
      histories(4),
    );
  },
);

it('uses the clock of the application, and takes nothing early while clocks are apart', async () => {
  const time = { now: 1_000_000_000_000_000 };
  const log = openLog({ read: () => time.now, maxSkew: 1_000_000 });
  await log.add([settlement(prefix, time.now)], time.now + 60_000_000).written;
  for (const [passed, taken] of [
    [60_000_000, 0],
    [60_999_999, 0],
    [61_000_000, 1],
  ] as const) {
    time.now = 1_000_000_000_000_000 + passed;
    expect((await log.takeDue()).taken).toHaveLength(taken);
  }
});

it('takes so many at once, and says that there may be more', async () => {
  const log = openLog(undefined, { entries: 1_000, taken: 3 });
  const now = await timeOf(redis.client);
  await Promise.all(Array.from({ length: 40 }, () => log.add([settlement(prefix, now)], now).written));
  let [taken, more] = [0, true];
  while (more) {
    const sweep = await log.takeDue();
    expect(sweep.taken.length).toBeLessThanOrEqual(3 * KEYS);
    [taken, more] = [taken + sweep.taken.length, sweep.more];
  }
  expect([taken, await entries()]).toEqual([40, []]);
});

it('lives as long as one of its reservations means something', async () => {
  const log = openLog();
  const now = await timeOf(redis.client);
  // Until each key has one that lasts for an hour.
  while ((await Promise.all(keys.map((part) => redis.client.exists(keyOf(part))))).includes(0)) {
    await log.add([settlement(prefix, now, 3_600_000_000)], now + 1_000_000).written;
  }
  for (let i = 0; i < 20; i++) await log.add([settlement(prefix, now, 2_000_000)], now + 1_000_000).written;
  for (const part of keys) {
    const left = (await expiryOf(redis.client, keyOf(part))) - now / 1000;
    expect(left).toBeGreaterThan(3_599_000);
    expect(left).toBeLessThan(3_602_000);
  }
  prefix = 'short';
  await openLog().add([settlement(prefix, now, 300_000)], now + 100_000).written;
  await until('the end of a short one', 10_000, async () => (await entries()).length === 0);
});

it('drops what another program wrote, and still gives the others', async () => {
  const log = openLog();
  const now = await timeOf(redis.client);
  await log.add([settlement(prefix, now)], now).written;
  for (const text of ['', 'x', '[]', '{"a":1}', `[1,"id",[["other","fixed-window",1,"1",0,1,2,1]]]`]) {
    await redis.client.zadd(keyOf('1'), 5, text);
  }
  expect(await log.takeDue()).toMatchObject({ malformed: 5, taken: [expect.anything()], more: false });
  expect(await entries()).toEqual([]);
});

it.each([
  ['of Redis', 0],
  ['of Redis, long before they are due', 3_600_000_000],
  ['of the application', 0],
  ['of the application, long before they are due', 3_600_000_000],
])('gives each reservation once and loses none, though calls and answers are lost: by the clock %s', async (by, ms) => {
  const outcomes = fc.constantFrom('well', 'well', 'lost', 'answer lost');
  // The process itself, or one of two that sweep: these are given nothing early.
  const claims = fc.array(fc.nat({ max: ms === 0 ? 2 : 0 }), { minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(claims, fc.infiniteStream(outcomes), async (claimants, faults) => {
    prefix = `t${randomUUID().slice(0, 8)}`;
    const client = givenIoredis(redis.client);
    const lossy: ProgramRunner = {
      keyPrefix: client.keyPrefix,
      runByText: (...call) => client.runByText(...call),
      failureOf: (thrown) => client.failureOf(thrown),
      async runByHash(...call) {
        // What is due when it comes may be gone by the second question.
        const outcome = ms === 0 && call[2].includes('add') ? 'well' : faults.next().value;
        const lost = new Error('lost');
        if (outcome === 'lost') throw lost;
        const answer = await client.runByHash(...call);
        if (outcome === 'answer lost') throw lost;
        return answer;
      },
    };
    const atOnce: Timer = (_, task) => {
      setImmediate(task);
      return () => undefined;
    };
    const now = await timeOf(redis.client);
    // It stands still.
    const clock = by.startsWith('of Redis') ? undefined : { read: () => now, maxSkew: 0 };
    const open = (): RedisReservationLog =>
      new RedisReservationLog({ client: lossy }, keyOf, clock, undefined, undefined, atOnce);
    const owner = open();
    const sweepers = [open(), open()] as const;
    const given: string[] = [];
    const ends = await Promise.all(
      claimants.map(async (claimant) => {
        const made = settlement(prefix, now);
        const logged = owner.add([made], now + ms);
        await logged.written.catch(() => undefined);
        return async () => {
          if (claimant > 0) await sweep(sweepers[claimant - 1]!);
          else if ((await logged.claim()) === 'own') given.push(made.receipt.key);
        };
      }),
    );
    const sweep = async (log: RedisReservationLog): Promise<void> => {
      given.push(...(await log.takeDue()).taken.flat().map(({ receipt }) => receipt.key));
    };
    await Promise.all(ends.map(async (end) => end()));
    while ((await entries()).length > 0) await sweep(sweepers[0]);
    expect(given.toSorted()).toEqual([...new Set(given)].toSorted());
    expect(given).toHaveLength(claimants.length);
  });
  await fc.assert(property, histories());
});

it('has room for reservations, however many were claimed', async () => {
  const log = openLog(undefined, { entries: 1, taken: 64 });
  const now = await timeOf(redis.client);
  for (let i = 0; i < 20; i++) {
    const logged = log.add([settlement(prefix, now)], now + 3_600_000_000);
    await logged.written;
    expect(await logged.claim()).toBe('own');
  }
});

it('a foreign type under a key fails that key alone, and the reservation belongs to its process', async () => {
  const log = openLog();
  const now = await timeOf(redis.client);
  for (const part of keys) await redis.client.set(keyOf(part), 'foreign');
  const logged = log.add([settlement(prefix, now)], now);
  await expect(logged.written).rejects.toThrow('WRONGTYPE');
  expect(await logged.claim()).toBe('own');
  await redis.client.del(keyOf('2'));
  await redis.client.zadd(keyOf('2'), 5, 'x');
  expect(await log.takeDue()).toEqual({
    taken: [],
    more: false,
    malformed: 1,
    error: expect.objectContaining({ name: 'ReplyError', message: expect.stringContaining('WRONGTYPE') }),
  });
  expect(await redis.client.get(keyOf('3'))).toBe('foreign');
});

it('a reservation whose answer went with its connection is taken out before it is settled', async () => {
  const lost = redis.client.duplicate({ lazyConnect: true });
  await lost.connect();
  const now = await timeOf(redis.client);
  const log = new RedisReservationLog({ client: givenIoredis(lost) }, keyOf);
  await log.takeDue(); // Redis knows the script from here on
  const logged = log.add([settlement(prefix, now)], now);
  lost.stream.pause();
  await until('the entry', 5_000, async () => (await entries()).length === 1);
  // ioredis says the same of a command that it has sent and of one that it has not: "Connection is closed."
  lost.disconnect();
  lost.stream.destroy();
  await expect(logged.written).rejects.toThrow('the connection to Redis is closed');
  await lost.connect();
  expect(await logged.claim()).toBe('own');
  expect(await entries()).toEqual([]);
  await lost.quit();
});
