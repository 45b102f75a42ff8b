import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { algorithmOf, windowOf } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { Fraction } from '../support/fraction.js';
import { histories } from '../support/property-runs.js';
import { admitted, type KeyHistory, keyHistoriesOf, mostWithin, replay } from './key-histories.js';
import { decided, TextbookCounter, TextbookFixedWindow, TextbookLog } from './textbook-windows.js';

const ORACLES = [
  { name: 'fixed-window', Oracle: TextbookFixedWindow },
  { name: 'sliding-window-counter', Oracle: TextbookCounter },
  { name: 'sliding-window-log', Oracle: TextbookLog },
] as const;

describe.each(ORACLES)('the $name', ({ name, Oracle }) => {
  it('decides by its definition, in exact arithmetic', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const oracle = new Oracle(algorithmOf(history.policy));
      replay(history, (answer) => expectSame(decided(answer), oracle.expected(answer.at, answer.cost)));
    });
    assert(law, histories());
  });

  it('gives an exact retryAfter: its definition rejects just before it, and allows at it', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const oracle = new Oracle(algorithmOf(history.policy));
      replay(history, (answer, { maxCost }) => {
        const { at, cost, allowed, retryAfter } = answer;
        oracle.expected(at, cost);
        expectHolds((retryAfter === Infinity) === cost > maxCost, () => answer);
        if (allowed || retryAfter === Infinity) return;
        expectHolds(!oracle.wouldAllow(at + retryAfter - 1, cost || 1), () => answer);
        expectHolds(oracle.wouldAllow(at + retryAfter, cost || 1), () => answer);
      });
    });
    assert(law, histories());
  });

  it('has its whole limit at resetAfter, and not before', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const oracle = new Oracle(algorithmOf(history.policy));
      replay(history, (answer, { limit }) => {
        const { at, cost, resetAfter } = answer;
        oracle.expected(at, cost);
        const whole = Fraction.of(limit);
        expectHolds(whole.atMost(oracle.free(at + resetAfter)), () => answer);
        // An unused fixed window has a resetAfter, too: its end.
        if (resetAfter === 0 || (name === 'fixed-window' && whole.atMost(oracle.free(at)))) return;
        expectHolds(!whole.atMost(oracle.free(at + resetAfter - 1)), () => answer);
      });
    });
    assert(law, histories());
  });
});

describe('never admits more', () => {
  it('than its limit in each window of the fixed window', () => {
    const law = property(keyHistoriesOf('fixed-window'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const counts = new Map<number, number>();
      for (const { at, cost } of admitted(replay(history))) {
        const index = Math.floor(at / windowOf(algorithm));
        counts.set(index, (counts.get(index) ?? 0) + cost);
      }
      for (const [index, count] of counts) expectHolds(count <= algorithm.limit, () => ({ index, count }));
    });
    assert(law, histories());
  });

  it('than its limit in every window-long interval of the log', () => {
    const law = property(keyHistoriesOf('sliding-window-log'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const most = mostWithin(admitted(replay(history)), windowOf(algorithm));
      expectHolds(most <= algorithm.limit, () => ({ algorithm, most }));
    });
    assert(law, histories());
  });

  it('than 2 x limit - 1 in every window-long interval of the counter', () => {
    const law = property(keyHistoriesOf('sliding-window-counter'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const most = mostWithin(admitted(replay(history)), windowOf(algorithm));
      expectHolds(most <= 2 * algorithm.limit - 1, () => ({ algorithm, most }));
    });
    assert(law, histories());
  });
});
