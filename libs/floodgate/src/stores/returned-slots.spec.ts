import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../test/support/algorithm-of.js';
import { histories } from '../../../../test/support/property-runs.js';
import { MemoryStore } from './memory/memory.store.js';
import { receiptsOf } from './receipt.js';
import { ReturnedSlots } from './returned-slots.js';

const INTERVAL = 10_000;
const ORIGIN = 1_719_360_000_000_000;
const queue = algorithmOf({ algorithm: 'leaky-bucket', capacity: 60, drain: 1_000_000 / INTERVAL });

/** A queue with a clock that stands still, and what a test sees of it. */
function opened(answerTurns = 0) {
  const store = new MemoryStore({ clock: () => ORIGIN });
  const due: (() => void)[] = [];
  const time = { ms: 0 };
  let asked = 0;
  const charge = { key: 'queue', algorithm: queue, cost: 1 };
  const slots = new ReturnedSlots(
    async (receipt) => {
      asked++;
      for (let i = 0; i < answerTurns; i++) await turn();
      return store.settle([{ receipt, finalCost: 0, overdraft: 0 }])[0]!.refunded! > 0;
    },
    (_, task) => {
      due.push(task);
      return () => undefined;
    },
    () => time.ms,
  );
  return {
    slots,
    time,
    take: () => receiptsOf([charge], store.consume([charge]))[0]!,
    /** How many slots stand before the next request. */
    waiting: () => store.consume([{ ...charge, cost: 0 }]).charges[0]!.delay / INTERVAL,
    fire: async () => {
      for (const task of due.splice(0)) task();
      await settled();
    },
    get asked() {
      return asked;
    },
    get isArmed() {
      return due.length > 0;
    },
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 200; i++) await turn();
}

it('takes back all slots behind the last request that stays, in whatever order and turns clients leave', async () => {
  const clients = fc.array(
    fc.record({ leaves: fc.nat({ max: 100 }), stays: fc.boolean(), turns: fc.nat({ max: 1 }) }),
    {
      minLength: 1,
      maxLength: 50,
    },
  );
  await fc.assert(
    fc.asyncProperty(clients, fc.nat({ max: 3 }), async (given, answerTurns) => {
      const test = opened(answerTurns);
      const waiting = given.map((client) => ({ ...client, receipt: test.take() }));
      for (const { receipt, turns } of waiting.filter(({ stays }) => !stays).toSorted((a, b) => a.leaves - b.leaves)) {
        void test.slots.add(receipt);
        for (let i = 0; i < turns; i++) await turn();
      }
      await settled();
      expect(test.waiting()).toBe(given.findLastIndex(({ stays }) => stays) + 1);
    }),
    histories(),
  );
});

it('takes back slots before those of another process once these have come back, and asks little meanwhile', async () => {
  const test = opened();
  const own = Array.from({ length: 40 }, () => test.take());
  const other = test.take();
  for (const receipt of own) void test.slots.add(receipt);
  await settled();
  const before = test.asked;
  expect(before).toBeLessThan(10);
  await test.fire();
  expect([test.waiting(), test.asked]).toEqual([41, before + 1]);
  void test.slots.add(other); // as if the other process had
  await settled();
  expect(test.waiting()).toBe(0);
});

it('forgets slots that have passed', async () => {
  const test = opened();
  const first = test.take();
  test.take();
  void test.slots.add(first);
  await settled();
  expect(test.isArmed).toBe(true);
  test.time.ms = 1_000;
  await test.fire();
  expect(test.isArmed).toBe(false);
});
