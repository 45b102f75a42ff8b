import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ALGORITHM_NAMES, algorithmOfRate } from '../../libs/rate-limit/src/algorithms/algorithms.js';
import { FixedWindow } from '../../libs/rate-limit/src/algorithms/fixed-window.js';
import { givenIoredis } from '../../libs/rate-limit/src/stores/redis/clients/ioredis-client.js';
import { RedisReservationLog, type ReservationBounds } from '../../libs/rate-limit/src/stores/redis/reservation-log.js';
import type { Clock, ChargeSettlement } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { policyOf } from '../support/arbitrary-policies.js';
import { histories } from '../support/property-runs.js';
import { until } from '../support/faults/until.js';
import { expiryOf, timeOf, useRedis } from '../support/redis-fixture.js';

const redis = useRedis();
const DAY = 86_400_000_000;
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

let made = 0;
function settlement(at: number, lasts = DAY): ChargeSettlement {
  const algorithm = new FixedWindow(100, DAY);
  const key = `${prefix}:{user:${made++}}:app:day:fw:${DAY}`;
  return {
    receipt: { key, algorithm, at, resetAt: at + lasts, cost: 5, refundMarker: undefined },
    finalCost: 1,
    overdraft: 0,
  };
}

const entries = async (): Promise<string[]> =>
  (await Promise.all(keys.map((part) => redis.client.zrange(keyOf(part), '0', '-1')))).flat();

describe.each(ALGORITHM_NAMES.filter((name) => name !== 'concurrency'))('%s', (name) => {
  it('is made again from its name, limit and rate, whatever the policy', () => {
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
  });
});

describe('the reservation log in Redis', () => {
  it('gives what is due to one of many processes, and nothing before it is due', async () => {
    const now = await timeOf(redis.client);
    const [log, ...others] = Array.from({ length: 5 }, () => openLog());
    const due = Array.from({ length: 100 }, () => settlement(now - 10_000_000));
    const later = Array.from({ length: 20 }, () => settlement(now));
    const logged = [
      ...due.map((one) => log!.add([one], now - 1)),
      ...later.map((one) => log!.add([one], now + 60_000_000)),
    ];
    await Promise.all(logged.map(({ written }) => written));
    const claims = logged.slice(0, 30).map(async (one) => one.claim());
    const sweeps = Array.from({ length: 12 }, (_, i) => others[i % 4]!.takeDue());
    const owned = (await Promise.all(claims)).filter((claim) => claim === 'own').length;
    const taken = (await Promise.all(sweeps)).flatMap((sweep) => sweep.taken);
    expect(owned + taken.length).toBe(100);
    expect(new Set(taken.map(([one]) => one!.receipt.key)).size).toBe(taken.length);
    for (const [one] of taken) expect(due).toContainEqual(one);
    expect(await entries()).toHaveLength(20);
    expect(await logged.at(-1)!.claim()).toBe('own');
    expect(await logged.at(-1)!.claim()).toBe('taken');
  });

  it('uses the clock of the application, and takes nothing early while clocks are apart', async () => {
    const time = { now: 1_000_000_000_000_000 };
    const log = openLog({ read: () => time.now, maxSkew: 1_000_000 });
    await log.add([settlement(time.now)], time.now + 60_000_000).written;
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
    await Promise.all(Array.from({ length: 40 }, () => log.add([settlement(now)], now).written));
    let [sweeps, taken, more] = [0, 0, true];
    while (more) {
      const sweep = await log.takeDue();
      expect(sweep.taken.length).toBeLessThanOrEqual(3 * KEYS);
      [taken, more] = [taken + sweep.taken.length, sweep.more];
      expect(sweeps++).toBeLessThan(40);
    }
    expect([taken, await entries()]).toEqual([40, []]);
  });

  it('has room for so many, and a reservation beyond them belongs to its process', async () => {
    const log = openLog(undefined, { entries: 2, taken: 3 });
    const now = await timeOf(redis.client);
    const logged = Array.from({ length: 60 }, () => log.add([settlement(now)], now + 60_000_000));
    const written = await Promise.allSettled(logged.map((one) => one.written));
    expect(written.filter(({ status }) => status === 'fulfilled')).toHaveLength(2 * KEYS);
    expect(await entries()).toHaveLength(2 * KEYS);
    const refused = written.findIndex(({ status }) => status === 'rejected');
    await expect(logged[refused]!.written).rejects.toThrow(/^2 reservations are open in /);
    expect(await logged[refused]!.claim()).toBe('own');
  });

  it('lives as long as one of its reservations means something', async () => {
    const log = openLog();
    const now = await timeOf(redis.client);
    // Until each key has one that lasts for an hour.
    while ((await Promise.all(keys.map((part) => redis.client.exists(keyOf(part))))).includes(0)) {
      await log.add([settlement(now, 3_600_000_000)], now + 1_000_000).written;
    }
    for (let i = 0; i < 20; i++) await log.add([settlement(now, 2_000_000)], now + 1_000_000).written;
    for (const part of keys) {
      const left = (await expiryOf(redis.client, keyOf(part))) - now / 1000;
      expect(left).toBeGreaterThan(3_599_000);
      expect(left).toBeLessThan(3_602_000);
    }
    prefix = 'short';
    const short = openLog();
    await short.add([settlement(now, 300_000)], now + 100_000).written;
    expect(await entries()).toHaveLength(1);
    await delay(700);
    expect(await entries()).toEqual([]);
  });

  it('drops what another program wrote, and still gives the others', async () => {
    const log = openLog();
    const now = await timeOf(redis.client);
    await log.add([settlement(now)], now).written;
    for (const text of ['', 'x', '[]', '{"a":1}', `[1,"id",[["other","fixed-window",1,"1",0,1,2,1]]]`]) {
      await redis.client.zadd(keyOf('1'), 5, text);
    }
    expect(await log.takeDue()).toMatchObject({ malformed: 5, taken: [expect.anything()], more: false });
    expect(await entries()).toEqual([]);
  });

  it('a foreign type under a key fails that key alone, and the reservation belongs to its process', async () => {
    const log = openLog();
    const now = await timeOf(redis.client);
    for (const part of keys) await redis.client.set(keyOf(part), 'foreign');
    const logged = log.add([settlement(now)], now);
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
    const logged = log.add([settlement(now)], now);
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
});
