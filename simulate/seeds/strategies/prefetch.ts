import { perSecond } from '../../../lab/textbook/arithmetic.js';
import { TextbookTokenBucket } from '../../../lab/textbook/textbook.js';
import { answersInTime, neverAbove } from '../oracle.js';
import { userOf } from '../stage.js';
import type { SeedStrategy } from '../strategy.js';

const [CAPACITY, REFILL] = [24, 24];
/** Requests of a client in a row, for each unit of cost: a process prefetches only what it is asked for. */
const IN_A_ROW = 6;

/** Tokens that processes charge ahead of demand. */
export const PREFETCH: SeedStrategy = {
  name: 'prefetch',
  title: 'tokens charged ahead, in pods that come and go',
  policies: {
    ahead: {
      algorithm: 'token-bucket',
      capacity: CAPACITY,
      refill: REFILL,
      by: 'user',
      prefetch: { for: '200ms', max: 10 },
    },
  },
  // A prefetch counts by the processes' clocks.
  excluded: ['step'],
  ask: async (limiter, { who, cost }, work) => {
    for (let i = 0; i < IN_A_ROW * cost; i++) {
      const one = i === 0 ? work : work.again();
      await limiter.consume('ahead', userOf(who)).then(
        (decision) => one.decided(decision),
        (error: Error) => one.failed(error),
      );
    }
  },
  check: (history) => [
    ...answersInTime(history),
    ...neverAbove(
      history,
      'ahead',
      () => new TextbookTokenBucket(CAPACITY, perSecond(REFILL)),
      () => 1,
    ),
  ],
};
