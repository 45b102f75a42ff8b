import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { costByWindow, mostWithin } from '../../libs/textbook/bounds.js';
import { algorithmOf, windowOf } from '../support/algorithm-of.js';
import { expectHolds } from '../support/expect-same.js';
import { histories } from '../support/property-runs.js';
import { admitted, type KeyHistory, keyHistoriesOf, replay } from './key-histories.js';

describe('never admits more', () => {
  it('than its limit in each window of the fixed window', () => {
    const law = property(keyHistoriesOf('fixed-window'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const costs = costByWindow(admitted(replay(history)), windowOf(algorithm));
      for (const [number, cost] of costs) expectHolds(cost <= algorithm.limit, () => ({ number, cost }));
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
