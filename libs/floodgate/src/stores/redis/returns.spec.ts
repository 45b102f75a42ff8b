import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import type { ChargeReceipt } from '../receipt.js';
import { type PendingSettlement, rejectAll } from './batch/pending-request.js';
import { Returns } from './returns.js';

const MINUTE = 60_000_000;
const ORIGIN = 1_719_360_000_000_000;
const places = algorithmOf({ algorithm: 'concurrency', limit: 5, lease: '60s' });
const queue = algorithmOf({ algorithm: 'leaky-bucket', capacity: 5, drain: '1/m' });

type Answer = 'run' | 'not run' | 'lost';

/** A way back to a Redis that answers as a test says. */
function opened() {
  const redis = { answer: 'run' as Answer, isAvailable: true, now: ORIGIN, refunded: 1 };
  const sent: string[] = [];
  let due: (() => void)[] = [];
  const returns = new Returns({
    settle: (settlement: PendingSettlement, isSure) => {
      sent.push(`${settlement.charges.map(({ key }) => key).join()}${isSure ? '!' : ''}`);
      if (redis.answer === 'run') {
        settlement.resolve(settlement.settlements.map(() => ({ refunded: redis.refunded, charged: 0 })));
      } else {
        rejectAll(settlement, new Error(redis.answer), redis.answer === 'not run');
      }
    },
    idle: () => Promise.resolve(),
    isAvailable: () => redis.isAvailable,
    clock: () => redis.now,
    timer: (_, task) => {
      due.push(task);
      return () => undefined;
    },
  });
  const receipt = (key: string, algorithm = places): ChargeReceipt => ({
    key,
    algorithm,
    cost: 1,
    at: ORIGIN,
    resetAt: ORIGIN + MINUTE,
  });
  return {
    returns,
    redis,
    receipt,
    /** What was sent since the last call. */
    sent: () => sent.splice(0),
    fire: (): number => {
      const tasks = due;
      due = [];
      for (const task of tasks) task();
      return tasks.length;
    },
  };
}

const nothing = (): void => undefined;

it('sends again what was not run, until it is run, and only while the server may be asked', () => {
  const { returns, redis, receipt, sent, fire } = opened();
  let done = 0;
  redis.answer = 'not run';
  returns.refund([receipt('a'), receipt('b')], () => done++);
  expect([sent(), done]).toEqual([['a', 'b'], 1]);
  expect([fire(), sent()]).toEqual([1, ['a', 'b']]);
  redis.isAvailable = false;
  expect([fire(), sent()]).toEqual([1, []]);
  redis.isAvailable = true;
  redis.answer = 'run';
  expect([fire(), sent()]).toEqual([1, ['a', 'b']]);
  expect([fire(), sent(), done]).toEqual([0, [], 1]);
});

it('sends nothing again whose answer is lost', async () => {
  const { returns, redis, receipt, sent, fire } = opened();
  redis.answer = 'lost';
  returns.refund([receipt('a')], nothing);
  await expect(returns.settle([{ receipt: receipt('b'), finalCost: 1, overdraft: 0 }])).rejects.toThrow('lost');
  expect([sent(), fire()]).toEqual([['a', 'b'], 0]);
});

it('forgets what has ended by itself', () => {
  const { returns, redis, receipt, sent, fire } = opened();
  redis.answer = 'not run';
  returns.refund([receipt('a')], nothing);
  sent();
  redis.now += 2 * MINUTE - 1;
  expect([fire(), sent()]).toEqual([1, ['a']]);
  redis.now++;
  expect([fire(), sent(), fire()]).toEqual([1, [], 0]);
});

it('keeps 10,000', () => {
  const { returns, redis, receipt, sent, fire } = opened();
  redis.answer = 'not run';
  returns.refund(
    Array.from({ length: 10_001 }, (_, i) => receipt(String(i))),
    nothing,
  );
  expect(sent()).toHaveLength(10_001);
  redis.answer = 'run';
  fire();
  expect(sent()).toHaveLength(10_000);
});

it('sends what is left until it is run when it closes, whatever the breaker says, and nothing afterwards', async () => {
  const { returns, redis, receipt, sent, fire } = opened();
  redis.answer = 'not run';
  returns.refund([receipt('a')], nothing);
  redis.isAvailable = false;
  const closed = returns.close();
  await turn();
  expect([sent(), fire(), await turn(), sent()]).toEqual([['a', 'a!'], 2, undefined, ['a!']]);
  redis.answer = 'run';
  expect([fire(), await turn(), sent()]).toEqual([1, undefined, ['a!']]);
  await closed;
  redis.answer = 'not run';
  returns.refund([receipt('b')], nothing);
  expect([sent(), fire()]).toEqual([['b!'], 0]);
});

it('a slot that was not run waits for its turn to be the last one', async () => {
  const { returns, redis, receipt, sent, fire } = opened();
  redis.answer = 'not run';
  returns.refund([receipt('queue', queue)], nothing);
  redis.answer = 'run';
  redis.refunded = 0;
  const turns = async (): Promise<string[]> => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
    return sent();
  };
  // The settlement is sent whole, and says that the queue has kept the slot.
  expect([await turns(), fire(), await turns()]).toEqual([['queue'], 1, ['queue', 'queue']]);
  redis.refunded = 1;
  expect([fire(), await turns(), fire(), await turns()]).toEqual([1, ['queue'], 0, []]);
});
