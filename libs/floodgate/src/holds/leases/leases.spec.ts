import { expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { receiptsOf } from '../../stores/receipt.js';
import type { ChargeKeeper } from '../../charges/charge-keeper.js';
import type { Receipt } from '../../charges/judgement.js';
import { Leases } from './leases.js';

const SECOND = 1_000_000;
const places = algorithmOf({ algorithm: 'concurrency', limit: 5, lease: '60s' });

/** A place that was taken, and time that passes. */
function opened(answering: <T>(answer: T) => T | Promise<T> = (answer) => answer) {
  const time = { now: 1_719_360_000 * SECOND };
  const store = new MemoryStore({ clock: () => time.now });
  const due: { readonly at: number; readonly task: () => void }[] = [];
  const leases = new Leases(console, (ms, task) => {
    due.push({ at: time.now + ms * 1000, task });
    return () => undefined;
  });
  let renewals = 0;
  const keeper = {
    refund: (receipts) => store.refund(receipts),
    decidePatiently: (charges) => {
      renewals++;
      return answering(store.consume(charges));
    },
  } as ChargeKeeper;
  const charge = { key: 'places', algorithm: places.lease!.grant, cost: 1 };
  const [proof] = receiptsOf([charge], store.consume([charge]));
  const [lease] = leases.of([{ index: 0, charge, proof, keeper } as unknown as Receipt]);
  return {
    leases,
    lease: lease!,
    left: () => store.consume([{ key: 'places', algorithm: places, cost: 0 }]).charges[0]!.remaining,
    pass: (seconds: number): void => {
      for (const end = time.now + seconds * SECOND; ;) {
        const next = due.toSorted((one, other) => one.at - other.at)[0];
        if (next === undefined || next.at > end) {
          time.now = end;
          return;
        }
        due.splice(due.indexOf(next), 1);
        time.now = Math.max(time.now, next.at);
        next.task();
      }
    },
    get renewals() {
      return renewals;
    },
  };
}

it('a lease that nobody confirms ends after 5 s', () => {
  const test = opened();
  test.pass(4.9);
  expect(test.left()).toBe(4);
  test.pass(0.1);
  expect([test.left(), test.renewals]).toEqual([5, 0]);
});

it('a lease that is kept lasts until it is released', () => {
  const test = opened();
  test.lease.keep();
  expect(test.leases.size).toBe(1);
  for (let i = 0; i < 300; i++) {
    test.pass(1);
    expect(test.left()).toBe(4);
  }
  expect(test.renewals).toBeLessThan(25); // one to be a whole one, then every 15 s at the earliest
  test.lease.release();
  expect([test.left(), test.leases.size]).toEqual([5, 0]);
});

it('a lease that is confirmed is renewed once: it becomes a whole one, and ends by itself', () => {
  const test = opened();
  test.lease.confirm();
  expect(test.leases.size).toBe(0);
  test.pass(59);
  expect([test.left(), test.renewals]).toEqual([4, 1]);
  test.pass(4);
  expect([test.left(), test.renewals]).toEqual([5, 1]);
});

it('a lease that is confirmed and kept later loses no time', () => {
  const test = opened();
  test.lease.confirm();
  test.pass(2.4);
  test.lease.keep();
  for (let i = 0; i < 100; i++) {
    test.pass(1);
    expect(test.left()).toBe(4);
  }
});

it.each([0.1, 2.4, 10])(
  'a lease that is kept for %d s while it waits, and confirmed again, is a whole one',
  (seconds) => {
    const test = opened();
    test.lease.confirm();
    test.lease.keep();
    test.pass(seconds);
    test.lease.confirm();
    test.pass(40);
    expect(test.left()).toBe(4);
    test.pass(60);
    expect(test.left()).toBe(5);
  },
);

it('a lease that is released during its renewal is free once the renewal is answered, also after the leases have stopped', async () => {
  const answers: (() => void)[] = [];
  const test = opened((answer) => new Promise((resolve) => void answers.push(() => resolve(answer))));
  test.lease.keep();
  test.pass(4);
  test.lease.release();
  test.leases.stop();
  expect([answers.length, test.left()]).toEqual([1, 4]);
  answers[0]!();
  await new Promise((resolve) => void setImmediate(resolve));
  expect(test.left()).toBe(5);
});
