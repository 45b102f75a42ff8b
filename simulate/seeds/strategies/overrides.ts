import type { Asked, History, Operated } from '../history.js';
import { LEDGER, ledgerRange } from '../ledger.js';
import { answersInTime, clientsOf, countsOnce, instantOf, isCalm, isSure, levelOf, named, sum } from '../oracle.js';
import { userOf } from '../stage.js';
import type { SeedStrategy } from '../strategy.js';

const MS = 1000;
const LIMIT = 5;
/** Microseconds within which every process obeys. */
const OBEYED = 1_000 * MS;

type Limit = number | null;

/** The limits that a process may give a client between two instants, by the changes for one target. */
function possible(history: History, who: number | null, by: Asked['process'], from: number, to: number): Set<Limit> {
  // A removal that found nothing to remove is no change.
  const changes = history.operated.filter(
    ({ operate, askedAt, ended }) => operate.who === who && askedAt <= to && ended?.value !== false,
  );
  const isDone = ({ ended }: Operated): boolean => ended !== undefined && ended.error === undefined;
  const isObeyed = (one: Operated): boolean => {
    if (!isDone(one)) return false;
    const at = one.ended!.at;
    if (one.process === by) return at <= from;
    const since = Math.max(at, by.bornAt);
    return since + OBEYED <= from && isCalm(history, by, since, from);
  };
  const last = changes.findLast(isObeyed);
  const limits = changes.filter(
    (one) => one === last || !isDone(one) || last === undefined || one.ended!.at >= last.askedAt,
  );
  return new Set([...(last === undefined ? [null] : []), ...limits.map(({ operate }) => operate.limit)]);
}

function limitsOf(history: History, who: number, by: Asked['process'], from: number, to: number): Set<number> {
  const own = possible(history, who, by, from, to);
  const everyone = [...possible(history, null, by, from, to)].map((limit) => limit ?? LIMIT);
  return new Set([...own].flatMap((limit) => (limit === null ? everyone : [limit])));
}

/** Every request gets a limit that is, or was within a second, in force; and no more is admitted than that limit. */
function obeys(history: History): string[] {
  const asked = history.asked.filter((one) => isSure(one) && one.decided!.value!.policies.length > 0);
  const admitted = asked.filter((one) => one.decided!.value!.allowed);
  return asked.flatMap((one) => {
    const { ask, process, askedAt, decided } = one;
    const { limit } = decided!.value!.policies.find(({ policy }) => policy === 'limited') ?? {};
    const limits = limitsOf(history, ask.who, process, askedAt, decided!.at);
    if (limit === undefined || !limits.has(limit)) {
      return [`${named(one)} got the limit ${limit}, expected one of ${[...limits].join()}`];
    }
    if (!decided!.value!.allowed) return [];
    const before = admitted.filter((other) => other.ask.who === ask.who && instantOf(other) < instantOf(one));
    const used = ask.cost + (history.clocks.length > 1 ? 0 : sum(before.map((other) => other.ask.cost)));
    return used <= limit ? [] : [`${named(one)} was admitted as number ${used} of ${limit}`];
  });
}

/** In the end every process has the last limit. */
function endsWithLast(history: History): string[] {
  return clientsOf(history).flatMap((who) => {
    const { quietAt } = history;
    const reader = { pod: -1, bornAt: 0 };
    const limits = limitsOf(history, who, reader, quietAt, quietAt);
    const { limit } = levelOf(history, 'limited', who);
    return limits.has(limit) ? [] : [`client ${who} has the limit ${limit} in the end, expected ${[...limits].join()}`];
  });
}

/** An operator raises and lowers the limit of a client, and of everyone. */
export const OVERRIDES: SeedStrategy = {
  name: 'overrides',
  title: 'overrides, of a client and of everyone',
  operates: true,
  policies: {
    limited: { algorithm: 'fixed-window', limit: LIMIT, window: '36500d', by: 'user' },
    [LEDGER]: { algorithm: 'fixed-window', limit: 10_000, window: '36500d', by: 'user' },
  },
  ask: async (limiter, { who, cost }, work) => {
    work.decided(await limiter.consume(['limited', LEDGER], userOf(who), { cost }));
  },
  check: (history) => [
    ...answersInTime(history),
    ...countsOnce(history, LEDGER, ledgerRange),
    ...obeys(history),
    ...endsWithLast(history),
  ],
};
