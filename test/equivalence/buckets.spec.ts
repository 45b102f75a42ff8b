import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { algorithmOf, rateOf } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { Fraction } from '../support/fraction.js';
import { histories } from '../support/property-runs.js';
import { admitted, type Answer, type KeyHistory, keyHistoriesOf, replay } from './key-histories.js';
import { TextbookBucket, TextbookQueue } from './textbook-bucket.js';

describe('the token bucket', () => {
  it('is the textbook bucket: decision, remaining, resetAfter and retryAfter in exact arithmetic', () => {
    const law = property(keyHistoriesOf('token-bucket'), (history: KeyHistory) => {
      const bucket = new TextbookBucket(algorithmOf(history.policy), history.start);
      replay(history, (answer, { maxCost }) => {
        const { at, cost } = answer;
        const asked = cost || 1;
        const allowed = bucket.wouldAllow(at, asked);
        const missing = Fraction.of(asked).minus(bucket.at(at));
        const wait = asked > maxCost ? Infinity : Number(missing.over(bucket.rate).ceil());
        if (allowed) bucket.take(at, cost);
        const tokens = bucket.at(at);
        expectSame(answer, {
          at,
          cost,
          allowed,
          remaining: Number(tokens.floor()),
          resetAfter: Number(bucket.capacity.minus(tokens).over(bucket.rate).ceil()),
          retryAfter: allowed ? 0 : wait,
          delay: 0,
        });
      });
    });
    assert(law, histories());
  });

  it('gives an exact retryAfter: the textbook bucket rejects just before it, and allows at it', () => {
    const law = property(keyHistoriesOf('token-bucket'), (history: KeyHistory) => {
      const bucket = new TextbookBucket(algorithmOf(history.policy), history.start);
      replay(history, (answer) => {
        const { at, cost, allowed, retryAfter } = answer;
        if (allowed) bucket.take(at, cost);
        if (allowed || retryAfter === Infinity) return;
        expectHolds(!bucket.wouldAllow(at + retryAfter - 1, cost || 1), () => answer);
        expectHolds(bucket.wouldAllow(at + retryAfter, cost || 1), () => answer);
      });
    });
    assert(law, histories());
  });

  it('never admits more than capacity + refill x t in any interval of length t', () => {
    const law = property(keyHistoriesOf('token-bucket'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const { tokens, microseconds } = rateOf(algorithm);
      expectNoMoreThan(admitted(replay(history)), algorithm, Fraction.of(tokens, microseconds), algorithm.limit);
    });
    assert(law, histories());
  });
});

describe('the leaky bucket', () => {
  it('is the queue of departure slots: decision, delay, remaining, resetAfter and retryAfter in exact arithmetic', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const queue = new TextbookQueue(algorithmOf(history.policy));
      replay(history, (answer, { maxCost, limit }) => {
        const { at, cost } = answer;
        const asked = cost || 1;
        const now = Fraction.of(at);
        const allowed = queue.wouldAllow(at, asked);
        const slot = queue.nextSlot(at);
        const tooLate = slot.plus(queue.periods(asked - 1)).minus(now.plus(queue.periods(limit)));
        if (allowed && cost > 0) queue.take(at, cost);
        const wait = queue.nextSlot(at).minus(now);
        const free = queue.periods(limit + 1).minus(wait);
        expectSame(answer, {
          at,
          cost,
          allowed,
          remaining: Math.min(limit, Number(free.over(queue.period).floor())),
          resetAfter: Number(wait.ceil()),
          retryAfter: allowed ? 0 : asked > maxCost ? Infinity : Number(tooLate.ceil()),
          delay: allowed ? Number(slot.minus(now).ceil()) : 0,
        });
      });
    });
    assert(law, histories());
  });

  it('delays no request longer than all of its places take to depart', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const queue = new TextbookQueue(algorithmOf(history.policy));
      replay(history, (answer, { limit }) => {
        expectHolds(Fraction.of(answer.delay - 1).compare(queue.periods(limit)) < 0, () => answer);
      });
    });
    assert(law, histories());
  });

  it('never gives slots that are closer together than 1/drain', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const queue = new TextbookQueue(algorithmOf(history.policy));
      const departures = admitted(replay(history)).map(({ at, delay, cost }) => ({ slot: at + delay, cost }));
      for (const [i, first] of departures.entries()) {
        let before = first.cost;
        for (const later of departures.slice(i + 1)) {
          // A slot is rounded up to a whole microsecond.
          const gap = Fraction.of(later.slot - first.slot + 1);
          expectHolds(queue.periods(before).compare(gap) < 0, () => ({ first, later, before }));
          before += later.cost;
        }
      }
    });
    assert(law, histories());
  });

  it('never admits more than its places, the departing request, and drain x t in any interval of length t', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const { tokens, microseconds } = rateOf(algorithm);
      expectNoMoreThan(admitted(replay(history)), algorithm, Fraction.of(tokens, microseconds), algorithm.limit + 1);
    });
    assert(law, histories());
  });
});

/** Checks every pair of admissions: the cost from the first to the last is at most `burst` + rate x their distance. */
function expectNoMoreThan(admissions: readonly Answer[], algorithm: Algorithm, rate: Fraction, burst: number): void {
  for (const [i, first] of admissions.entries()) {
    let sum = 0;
    for (const last of admissions.slice(i)) {
      sum += last.cost;
      const bound = Fraction.of(burst).plus(rate.times(Fraction.of(last.at - first.at)));
      expectHolds(Fraction.of(sum).atMost(bound), () => ({ algorithm, first, last, sum }));
    }
  }
}
