import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ALGORITHM_NAMES, algorithmOfRate } from '../../libs/rate-limit/src/algorithms/algorithms.js';
import { FixedWindow } from '../../libs/rate-limit/src/algorithms/fixed-window/fixed-window.js';
import type { ProgramRunner } from '../../libs/rate-limit/src/stores/redis/clients/client.js';
import { givenIoredis } from '../../libs/rate-limit/src/stores/redis/clients/ioredis-client.js';
import { RedisReservationLog, type ReservationBounds } from '../../libs/rate-limit/src/stores/redis/reservation-log.js';
import type { LoggedReservation, ReservationLog } from '../../libs/rate-limit/src/stores/reservation-log.js';
import type { Clock, ChargeSettlement } from '../../libs/rate-limit/src/stores/store.js';
import type { Timer } from '../../libs/rate-limit/src/stores/timer.js';
import { VirtualClock } from '../../libs/rate-limit/src/testing/virtual-clock.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { policyOf } from '../support/arbitrary-policies.js';
import { expectHolds } from '../support/expect-same.js';
import { histories } from '../support/property-runs.js';
import { until } from '../support/faults/until.js';
import { expiryOf, timeOf, useRedis } from '../support/redis-fixture.js';
import { EVERY_LOG } from './reservation-logs.js';

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

let settlements = 0;
function settlement(at: number, lasts = DAY): ChargeSettlement {
  const algorithm = new FixedWindow(100, DAY);
  const key = `${prefix}:{user:${settlements++}}:app:day:fw:${DAY}`;
  return {
    receipt: { key, algorithm, at, resetAt: at + lasts, cost: 5, refundMarker: undefined },
    finalCost: 1,
    overdraft: 0,
  };
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

/** What happens to a log: a process adds a reservation, takes one out or takes what is due, or time passes. */
type Step =
  | { readonly add: number; readonly process: number }
  | { readonly claim: number }
  | { readonly take: number }
  | { readonly passMs: number };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.nat({ max: 20 }), process: fc.nat({ max: 4 }) }) },
    { weight: 3, arbitrary: fc.record({ claim: fc.nat({ max: 9 }) }) },
    { weight: 2, arbitrary: fc.record({ take: fc.nat({ max: 4 }) }) },
    { weight: 3, arbitrary: fc.record({ passMs: fc.nat({ max: 12 }) }) },
  ),
  { minLength: 5, maxLength: 40, size: '+1' },
);

describe.each(EVERY_LOG)('the reservation log $where', ({ use }) => {
  const open = use();
  const clock = new VirtualClock();

  /** Adds a reservation, which is due so many milliseconds from now. */
  function adding(
    log: ReservationLog,
    ms: number,
  ): { readonly made: ChargeSettlement; readonly logged: LoggedReservation } {
    const now = clock.nowMicroseconds;
    const made = settlement(now);
    return { made, logged: log.add([made], now + ms * 1_000) };
  }

  /** Takes what is due as the process does that sweeps, or whose timer runs. */
  async function takenBy(log: ReservationLog): Promise<readonly ChargeSettlement[]> {
    const { taken, malformed } = await log.takeDue();
    expect([malformed, taken.filter(({ length }) => length !== 1)]).toEqual([0, []]);
    return taken.flat();
  }

  it('gives each of a hundred to one of those that ask at once, and none that is not due', async () => {
    const logs = open(clock, prefix);
    const [log, ...others] = logs;
    const due = Array.from({ length: 100 }, () => adding(log!, 0));
    const later = Array.from({ length: 20 }, () => adding(log!, 60_000));
    await Promise.all([...due, ...later].map(({ logged }) => logged.written));
    const claims = due.slice(0, 30).map(async ({ logged }) => logged.claim());
    const sweeps = Array.from({ length: 12 }, (_, i) => takenBy(others[i % others.length]!));
    const owned = (await Promise.all(claims)).filter((claim) => claim === 'own').length;
    const taken = (await Promise.all(sweeps)).flat();
    taken.push(...(await takenBy(log!)));
    expect(owned + taken.length).toBe(100);
    expect(new Set(taken.map(({ receipt }) => receipt.key)).size).toBe(taken.length);
    expect(await later[0]!.logged.claim()).toBe('own');
    clock.advance('1m');
    expect(await takenBy(log!)).toHaveLength(19);
  });

  it('has room for so many, and a reservation beyond them belongs to its process', async () => {
    const [log] = open(clock, prefix, 2);
    const all = Array.from({ length: 60 }, () => adding(log!, 60_000));
    const written = await Promise.allSettled(all.map(({ logged }) => logged.written));
    const refused = all.filter((_, i) => written[i]!.status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(60 - 2 * KEYS);
    expect(refused.length).toBeLessThanOrEqual(60 - 2);
    expect(await Promise.all(refused.map(async ({ logged }) => logged.claim()))).toEqual(refused.map(() => 'own'));
    clock.advance('1m');
    expect(await takenBy(log!)).toHaveLength(60 - refused.length);
  });

  it('gives each reservation or lets its process take it out, exactly once, whatever happens in whatever order', async () => {
    const property = fc.asyncProperty(steps, async (history) => {
      prefix = `t${randomUUID().slice(0, 8)}`;
      const logs = open(clock, prefix);
      const list: { readonly key: string; dueAt: number; logged: LoggedReservation; ended: string }[] = [];
      const take = async (log: ReservationLog): Promise<void> => {
        for (const { receipt } of await takenBy(log)) {
          const one = list.find(({ key }) => key === receipt.key)!;
          expectHolds(one.ended === '' && one.dueAt <= clock.nowMicroseconds, () => ({ one, history }));
          one.ended = 'given';
        }
      };
      for (const step of history) {
        if ('passMs' in step) clock.advance(step.passMs);
        else if ('take' in step) await take(logs[step.take % logs.length]!);
        else if ('add' in step) {
          const { made, logged } = adding(logs[step.process % logs.length]!, step.add);
          await logged.written;
          list.push({ key: made.receipt.key, dueAt: clock.nowMicroseconds + step.add * 1_000, logged, ended: '' });
        } else {
          const one = list.at(-1 - step.claim);
          if (one === undefined) continue;
          const claim = await one.logged.claim();
          // A process may let a reservation expire that it claims too late: then it is given.
          const isOpen = one.ended === '' && one.dueAt > clock.nowMicroseconds;
          expectHolds(claim === (isOpen ? 'own' : 'taken') || (claim === 'own' && one.ended === ''), () => ({
            one,
            claim,
          }));
          if (claim === 'own') one.ended = 'own';
        }
      }
      clock.advance('1m');
      await take(logs[0]!);
      expectHolds(
        list.every(({ ended }) => ended !== ''),
        () => ({ list, history }),
      );
    });
    await fc.assert(property, histories());
  });
});

describe('the log in Redis', () => {
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
      await log.add([settlement(now, 3_600_000_000)], now + 1_000_000).written;
    }
    for (let i = 0; i < 20; i++) await log.add([settlement(now, 2_000_000)], now + 1_000_000).written;
    for (const part of keys) {
      const left = (await expiryOf(redis.client, keyOf(part))) - now / 1000;
      expect(left).toBeGreaterThan(3_599_000);
      expect(left).toBeLessThan(3_602_000);
    }
    prefix = 'short';
    await openLog().add([settlement(now, 300_000)], now + 100_000).written;
    await until('the end of a short one', 10_000, async () => (await entries()).length === 0);
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

  it.each([
    ['of Redis', 0],
    ['of Redis, long before they are due', 3_600_000_000],
    ['of the application', 0],
    ['of the application, long before they are due', 3_600_000_000],
  ])(
    'gives each reservation once and loses none, though calls and answers are lost: by the clock %s',
    async (by, ms) => {
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
            const made = settlement(now);
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
    },
  );

  it('has room for reservations, however many were claimed', async () => {
    const log = openLog(undefined, { entries: 1, taken: 64 });
    const now = await timeOf(redis.client);
    for (let i = 0; i < 20; i++) {
      const logged = log.add([settlement(now)], now + 1_000_000);
      await logged.written;
      expect(await logged.claim()).toBe('own');
    }
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
