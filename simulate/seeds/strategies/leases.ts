import type { Asked, History } from '../history.js';
import {
  answersInTime,
  exactly,
  firstTrouble,
  type Held,
  holdsAtMost,
  countsOnce,
  isCalm,
  isSure,
  placeOf,
  type Range,
  rejectsOnlyFull,
} from '../oracle.js';
import { userOf } from '../stage.js';
import type { SeedStrategy } from '../strategy.js';

const MS = 1000;
const LIMIT = 4;
const LEASE_MS = 2_000;
/** Microseconds after which a released place is free in a calm time. */
const FREE = 50 * MS;

/** For how long a request certainly holds its places: until its release, its process's end, or a trouble that may end its lease. */
function held(history: History, asked: Asked): Held[] {
  const place = isSure(asked) && asked.decided!.value!.allowed ? placeOf(history, asked) : undefined;
  if (place === undefined) return [];
  const { ending, process, ask } = asked;
  const from = place.real;
  const stepped = Math.min(Infinity, ...history.clocks.map((clock) => clock.from).filter((at) => at > asked.askedAt));
  const renewed = Math.max(from + LEASE_MS * MS, firstTrouble(history, process, from));
  const to = Math.min(ending?.at ?? Infinity, process.diedAt ?? Infinity, stepped, renewed);
  return [{ asked, cost: ask.cost, from, to }];
}

/**
 * For how long it may hold them at most. Without an answer, or after a trouble, a lease may last until nobody renews it. After each step back of
 * Redis's clock, a lease that is renewed counts once more, until the one before it ends.
 */
function mayHold(history: History, asked: Asked): Held[] {
  const { ask, process, askedAt, decided, ending } = asked;
  if (isSure(asked) && !decided!.value!.allowed) return [];
  const { clocks } = history;
  const stepsBack = clocks.filter(({ ahead }, i) => ahead < (clocks[i - 1]?.ahead ?? 0)).length;
  const end = ending?.at ?? process.diedAt ?? Infinity;
  const isFreed = isSure(asked) && ending !== undefined && isCalm(history, process, askedAt, end + FREE);
  const to = isFreed && stepsBack === 0 ? end + FREE : Infinity;
  return [{ asked, cost: ask.cost * (1 + stepsBack), from: askedAt, to }];
}

/** What is taken in the end: the places of those that still hold them. */
function rangeOf(history: History, asked: Asked): Range {
  const { ask, process, askedAt, decided, ending } = asked;
  const isHeld = decided?.value?.allowed === true && ending === undefined && process.diedAt === undefined;
  if (!isHeld) return exactly(0);
  return { least: isCalm(history, process, askedAt, history.quietAt) ? ask.cost : 0, most: ask.cost };
}

/** Places that are held at once, in pods that come and go. */
export const LEASES: SeedStrategy = {
  name: 'leases',
  title: 'a concurrency: held, renewed, released, forgotten',
  policies: { places: { algorithm: 'concurrency', limit: LIMIT, lease: LEASE_MS, by: 'user' } },
  ask: async (limiter, { who, cost }, work) => {
    const lease = await limiter.acquire('places', userOf(who), { cost });
    work.decided(lease.decision);
    if (!lease.allowed || !(await work.done())) return;
    work.ends();
    lease.release();
    work.ended();
  },
  check: (history) => [
    ...answersInTime(history),
    ...[0, 1].flatMap((who) => {
      const own = history.asked.filter(({ ask }) => ask.who === who);
      return [
        ...holdsAtMost(
          LIMIT,
          own.flatMap((asked) => held(history, asked)),
        ),
        ...rejectsOnlyFull(
          LIMIT,
          own,
          own.flatMap((asked) => mayHold(history, asked)),
        ),
      ];
    }),
    ...countsOnce(history, 'places', (asked) => rangeOf(history, asked)),
  ],
};
