import { perSecond } from '../../../lab/textbook/arithmetic.js';
import { TextbookFixedWindow, TextbookTokenBucket } from '../../../lab/textbook/textbook.js';
import type { Asked, History } from '../history.js';
import { LEDGER } from '../ledger.js';
import {
  answersInTime,
  countsOnce,
  exactly,
  isCalm,
  isSure,
  neverAbove,
  type Range,
  settlesInTime,
} from '../oracle.js';
import { userOf } from '../stage.js';
import type { Ask } from '../story.js';
import type { SeedStrategy } from '../strategy.js';

const MS = 1000;
/** Microseconds from an expiry until another process has settled it. */
const SWEPT = 5_000 * MS;
/** Microseconds that an answer takes, and the entry in the log. */
const WRITTEN = 300 * MS;
const BUDGET = 8;
const WINDOW = 36_500 * 86_400 * 1_000_000;

/** The final cost at the expiry. */
const atExpiry = ({ who, cost, expiresMs }: Ask): number => (expiresMs === null ? cost : who);

/** What a reservation may have cost in the end. */
function rangeOf(history: History, asked: Asked): Range {
  const { ask, process, askedAt, decided, ending, ended } = asked;
  const { cost, expiresMs } = ask;
  const { diedAt } = process;
  if (!isSure(asked)) {
    // What is granted after the deadline is given back at once, unless its answer is lost.
    const isHeard = diedAt === undefined && isCalm(history, process, askedAt, askedAt + SWEPT, true);
    return { least: 0, most: isHeard ? 0 : cost };
  }
  if (!decided!.value!.allowed) return exactly(0);
  const expired = atExpiry(ask);
  if (ending !== undefined) {
    const { finalCost } = ending;
    const settlement = ended?.value;
    if (settlement?.settledBy === 'store' && settlement.expired !== true) return exactly(finalCost);
    if (settlement?.settledBy === 'store' && isCalm(history, process, askedAt, ended!.at + SWEPT)) {
      return exactly(Math.max(expired, finalCost));
    }
    return {
      least: Math.min(cost, finalCost, expired),
      most: expiresMs === null ? Math.max(cost, finalCost) : cost + Math.max(0, finalCost - expired),
    };
  }
  if (expiresMs === null) return exactly(cost);
  const due = decided!.at + expiresMs * MS;
  const others = { ...history, spans: history.spans.filter(({ from, pod }) => from !== diedAt || pod !== process.pod) };
  const isDone =
    diedAt === undefined
      ? isCalm(history, process, askedAt, due + SWEPT)
      : diedAt > decided!.at + WRITTEN && diedAt < due - WRITTEN && isCalm(others, process, askedAt, due + SWEPT);
  return { least: Math.min(expired, cost), most: isDone ? expired : cost };
}

/** The least that a reservation took from the limits at any time. What a settlement charges beyond it need not fit. */
function leastOf({ ask, ending }: Asked): number {
  const atEnd = ending === undefined ? ask.cost : ending.finalCost;
  return Math.min(ask.cost, atEnd, ask.expiresMs === null ? ask.cost : atExpiry(ask));
}

/** A budget and a bucket are charged for what is known later, and settled; some reservations expire. */
export const SETTLE: SeedStrategy = {
  name: 'settle',
  title: 'reservations: settled, cancelled, expired, forgotten',
  policies: {
    budget: { algorithm: 'fixed-window', limit: BUDGET, window: '36500d', by: 'user' },
    bucket: { algorithm: 'token-bucket', capacity: 6, refill: 4, by: 'user' },
    [LEDGER]: { algorithm: 'fixed-window', limit: 10_000, window: '36500d', by: 'user' },
  },
  ask: async (limiter, { who, cost, expiresMs }, work) => {
    const names = who === 0 ? ['bucket', LEDGER] : ['budget', 'bucket', LEDGER];
    const expiry = expiresMs === null ? {} : { expires: expiresMs, atExpiry: who };
    const reservation = await limiter.reserve(names, userOf(who), { cost, ...expiry });
    work.decided(reservation.decision);
    if (!reservation.allowed || !(await work.done())) return;
    work.ended(await reservation.settle(work.ends()));
  },
  attend: (limiter) => limiter.reserve(LEDGER, userOf(-1), { expires: '1s' }),
  check: (history) => {
    const range = (asked: Asked): Range => rangeOf(history, asked);
    return [
      ...answersInTime(history),
      ...settlesInTime(history),
      ...countsOnce(history, LEDGER, range),
      ...neverAbove(history, 'bucket', () => new TextbookTokenBucket(6, perSecond(4)), leastOf),
      ...neverAbove(history, 'budget', () => new TextbookFixedWindow(BUDGET, WINDOW), leastOf),
    ];
  },
};
