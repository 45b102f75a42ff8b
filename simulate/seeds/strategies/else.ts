import { perSecond } from '../../../lab/textbook/arithmetic.js';
import { type Textbook, TextbookFixedWindow, TextbookTokenBucket } from '../../../lab/textbook/textbook.js';
import type { Asked } from '../history.js';
import { LEDGER, ledgerRange } from '../ledger.js';
import { agreesWith, answersInTime, countsOnce, decisionOf, neverAbove, type Range, runsOverOnly } from '../oracle.js';
import { userOf } from '../stage.js';
import type { SeedStrategy } from '../strategy.js';

const CREDITS = 8;
const WINDOW = 36_500 * 86_400 * 1_000_000;
const costOf = ({ ask }: Asked): number => ask.cost;
const bucket = (): Textbook => new TextbookTokenBucket(4, perSecond(1));
const credits = (): Textbook => new TextbookFixedWindow(CREDITS, WINDOW);

/** What a request may have taken of the credits. */
function creditsRange(asked: Asked): Range {
  const range = ledgerRange(asked);
  return range.least === range.most && decisionOf(asked, 'credits') === undefined ? { least: 0, most: 0 } : range;
}

/** What does not fit a bucket is charged to credits. */
export const ELSE: SeedStrategy = {
  name: 'else',
  title: 'a bucket that runs over into credits',
  policies: {
    monthly: { algorithm: 'token-bucket', capacity: 4, refill: 1, by: 'user', else: 'credits' },
    credits: { algorithm: 'fixed-window', limit: CREDITS, window: '36500d', by: 'user' },
    [LEDGER]: { algorithm: 'fixed-window', limit: 10_000, window: '36500d', by: 'user' },
  },
  ask: async (limiter, { who, cost }, work) => {
    work.decided(await limiter.consume(['monthly', LEDGER], userOf(who), { cost }));
  },
  check: (history) => [
    ...answersInTime(history),
    ...countsOnce(history, LEDGER, ledgerRange),
    ...countsOnce(history, 'credits', creditsRange),
    ...neverAbove(history, 'monthly', bucket, costOf),
    ...neverAbove(history, 'credits', credits, costOf),
    ...agreesWith(history, 'monthly', bucket, costOf),
    ...runsOverOnly(history, 'monthly', 'credits', bucket, costOf),
  ],
};
