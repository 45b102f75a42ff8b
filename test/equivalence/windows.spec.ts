import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { algorithmOf, windowOf } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { Fraction } from '../support/fraction.js';
import { histories } from '../support/property-runs.js';
import { admitted, type Course, coursesOf, mostWithin, run } from './key-histories.js';
import { decided, TextbookCounter, TextbookFixedWindow, TextbookLog } from './textbook-windows.js';

const ORACLES = [
  { name: 'fixed-window', Oracle: TextbookFixedWindow },
  { name: 'sliding-window-counter', Oracle: TextbookCounter },
  { name: 'sliding-window-log', Oracle: TextbookLog },
] as const;

describe.each(ORACLES)('the $name', ({ name, Oracle }) => {
  it('decides as its definition says of the admissions so far, in exact arithmetic', () => {
    const law = property(coursesOf(name), (course: Course) => {
      const oracle = new Oracle(algorithmOf(course.policy));
      run(course, (told) => expectSame(decided(told), oracle.expected(told.at, told.cost)));
    });
    assert(law, histories());
  });

  it('is honest: by its definition a request is refused just before retryAfter, and allowed at it', () => {
    const law = property(coursesOf(name), (course: Course) => {
      const oracle = new Oracle(algorithmOf(course.policy));
      run(course, (told, { maxCost }) => {
        const { at, cost, allowed, retryAfter } = told;
        oracle.expected(at, cost);
        expectHolds((retryAfter === Infinity) === cost > maxCost, () => told);
        if (allowed || retryAfter === Infinity) return;
        expectHolds(!oracle.wouldAllow(at + retryAfter - 1, cost || 1), () => told);
        expectHolds(oracle.wouldAllow(at + retryAfter, cost || 1), () => told);
      });
    });
    assert(law, histories());
  });

  it('has its whole limit at resetAfter, and not before', () => {
    const law = property(coursesOf(name), (course: Course) => {
      const oracle = new Oracle(algorithmOf(course.policy));
      run(course, (told, { limit }) => {
        const { at, cost, resetAfter } = told;
        oracle.expected(at, cost);
        const whole = Fraction.of(limit);
        expectHolds(whole.atMost(oracle.free(at + resetAfter)), () => told);
        // An untouched fixed window still has an end to tell.
        if (resetAfter === 0 || (name === 'fixed-window' && whole.atMost(oracle.free(at)))) return;
        expectHolds(!whole.atMost(oracle.free(at + resetAfter - 1)), () => told);
      });
    });
    assert(law, histories());
  });
});

describe('never one more', () => {
  it('than its limit in each window of the fixed window', () => {
    const law = property(coursesOf('fixed-window'), (course: Course) => {
      const algorithm = algorithmOf(course.policy);
      const counts = new Map<number, number>();
      for (const { at, cost } of admitted(run(course))) {
        const index = Math.floor(at / windowOf(algorithm));
        counts.set(index, (counts.get(index) ?? 0) + cost);
      }
      for (const [index, count] of counts) expectHolds(count <= algorithm.limit, () => ({ index, count }));
    });
    assert(law, histories());
  });

  it('than its limit in every window-long interval of the log', () => {
    const law = property(coursesOf('sliding-window-log'), (course: Course) => {
      const algorithm = algorithmOf(course.policy);
      const most = mostWithin(admitted(run(course)), windowOf(algorithm));
      expectHolds(most <= algorithm.limit, () => ({ algorithm, most }));
    });
    assert(law, histories());
  });

  it('than 2 x limit - 1 in every window-long interval of the counter', () => {
    const law = property(coursesOf('sliding-window-counter'), (course: Course) => {
      const algorithm = algorithmOf(course.policy);
      const most = mostWithin(admitted(run(course)), windowOf(algorithm));
      expectHolds(most <= 2 * algorithm.limit - 1, () => ({ algorithm, most }));
    });
    assert(law, histories());
  });
});
