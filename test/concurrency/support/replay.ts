import { MemoryStore, type Policy } from 'nestjs-floodgate';
import { algorithmOf } from '../../support/algorithm-of.js';
import type { Textbook } from '../../../lab/textbook/textbook.js';
import { TestClock } from '../../support/test-clock.js';
import type { Seen } from './history.js';

/** The first wrong decision of a merged history with the right one; undefined when all are right. */
export interface Difference {
  readonly index: number;
  readonly seen: unknown;
  readonly expected: unknown;
}

/** Repeats the requests at the same instants against the textbook. */
export function differenceFromTextbook(history: readonly Seen[], textbook: Textbook): Difference | undefined {
  for (const [index, { at, allowed, delay }] of history.entries()) {
    const expected = { at, ...textbook.ask(at) };
    const seen = { at, allowed, delay };
    if (!equal(seen, expected)) return { index, seen, expected };
  }
  return undefined;
}

/** Repeats the requests against a store in this process at each decision's instant, and compares every field. */
export function differenceFromMemory(history: readonly Seen[], policy: Policy): Difference | undefined {
  const algorithm = algorithmOf(policy);
  const clock = new TestClock();
  const store = new MemoryStore({ clock: clock.read });
  for (const [index, seen] of history.entries()) {
    clock.now = seen.at;
    const { at, charges } = store.consume([{ key: 'key', algorithm, cost: 1 }]);
    const expected = { at, ...charges[0]! };
    if (!equal(seen, expected)) return { index, seen, expected };
  }
  return undefined;
}

function equal<T extends object>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((field) => a[field] === b[field]);
}
