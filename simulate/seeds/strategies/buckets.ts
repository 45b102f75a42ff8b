import { perSecond } from '../../../lab/textbook/arithmetic.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFixedWindow,
  TextbookLog,
  TextbookTokenBucket,
} from '../../../lab/textbook/textbook.js';
import { LEDGER, ledgerRange } from '../ledger.js';
import type { Asked } from '../history.js';
import { agreesWith, answersInTime, countsOnce, neverAbove, tellsRetries } from '../oracle.js';
import { userOf } from '../stage.js';
import type { SeedStrategy } from '../strategy.js';

const SECOND = 1_000_000;
const BOOKS: Readonly<Record<string, () => Textbook>> = {
  bucket: () => new TextbookTokenBucket(6, perSecond(4)),
  log: () => new TextbookLog(5, SECOND),
  window: () => new TextbookFixedWindow(7, SECOND),
  counter: () => new TextbookCounter(6, SECOND),
};

/** The cost is that of the bucket, and by name: each other policy counts one. */
const costOf = ({ ask }: Asked, policy: string): number => (policy === 'bucket' || policy === LEDGER ? ask.cost : 1);

/** Four algorithms and a ledger together: all of them are charged, or none. */
export const BUCKETS: SeedStrategy = {
  name: 'buckets',
  title: 'four algorithms together, costs by name',
  policies: {
    bucket: { algorithm: 'token-bucket', capacity: 6, refill: 4, by: 'user' },
    log: { algorithm: 'sliding-window-log', limit: 5, window: '1s', by: 'user' },
    window: { algorithm: 'fixed-window', limit: 7, window: '1s', by: 'user' },
    counter: { algorithm: 'sliding-window-counter', limit: 6, window: '1s', by: 'user' },
    [LEDGER]: { algorithm: 'fixed-window', limit: 10_000, window: '36500d', by: 'user' },
  },
  ask: async (limiter, { who, cost }, work) => {
    const names = [...Object.keys(BOOKS), LEDGER];
    const costs = Object.fromEntries(names.map((name) => [name, name === 'bucket' || name === LEDGER ? cost : 1]));
    work.decided(await limiter.consume(names, userOf(who), { cost: costs }));
  },
  check: (history) => [
    ...answersInTime(history),
    ...countsOnce(history, LEDGER, ledgerRange),
    ...Object.entries(BOOKS).flatMap(([policy, book]) => [
      ...neverAbove(history, policy, book, costOf),
      ...tellsRetries(history, policy, costOf),
      ...agreesWith(history, policy, book, costOf),
    ]),
  ],
};
