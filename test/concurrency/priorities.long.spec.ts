import { describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import type { Textbook } from '../../libs/textbook/textbook.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { textbookOf } from '../support/textbook-of.js';
import { parse, type Seen } from './support/history.js';
import { useLimiters } from './support/limiters.js';

const CLASSES = { rides: 1, searches: 0.8, estimates: 0.5 };
type Class = keyof typeof CLASSES;
const NAMES = Object.keys(CLASSES) as Class[];

/**
 * A process sends its next ride this long after the answer to the one before, however busy the machine is. So two processes send at
 * most 8 rides in 300 ms, which is less than the fifth of each limit that the other classes leave free.
 */
const RIDE_PAUSE_MS = 100;

/** What the processes send: few rides all the time, more searches for half of it, and estimates as fast as they can. */
const SENDERS: readonly {
  readonly priority: Class;
  readonly inFlight: number;
  readonly forMs: number;
  readonly pauseMs?: number;
}[] = [
  { priority: 'rides', inFlight: 1, pauseMs: RIDE_PAUSE_MS, forMs: 2000 },
  { priority: 'rides', inFlight: 1, pauseMs: RIDE_PAUSE_MS, forMs: 2000 },
  { priority: 'searches', inFlight: 4, forMs: 1000 },
  { priority: 'searches', inFlight: 8, forMs: 1000 },
  { priority: 'estimates', inFlight: 4, forMs: 2000 },
  { priority: 'estimates', inFlight: 4, forMs: 2000 },
  { priority: 'estimates', inFlight: 4, forMs: 2000 },
  { priority: 'estimates', inFlight: 8, forMs: 2000 },
];

/** A decision on a request of a class. */
interface Decided extends Seen {
  readonly priority: Class;
  /** What the class leaves free. */
  readonly headroom: number;
}

const limiters = useLimiters(SENDERS.length);

/** What the class may fill of a limit. */
function partOf(priority: Class, limit: number): number {
  return Math.floor(limit * CLASSES[priority]);
}

async function history(policy: Policy): Promise<Decided[]> {
  const { limit } = algorithmOf(policy);
  const numbers = await limiters.processes.all('hammer', (i) => ({ policy, ...SENDERS[i]! }));
  return numbers
    .flatMap((one, i) => {
      const { priority } = SENDERS[i]!;
      const headroom = limit - partOf(priority, limit);
      return parse(one).map((seen) => ({ ...seen, priority, headroom }));
    })
    .toSorted(byTurn);
}

/** At one microsecond the level only rises: what was admitted there came before what was rejected, the most left first. */
function byTurn(a: Decided, b: Decided): number {
  const left = (one: Decided): number => one.remaining + one.headroom;
  return a.at - b.at || Number(b.allowed) - Number(a.allowed) || left(b) - left(a) || a.delay - b.delay;
}

function firstUnlike(decided: readonly Decided[], textbook: Textbook): unknown {
  for (const [index, { at, allowed, delay, headroom, priority }] of decided.entries()) {
    const expected = textbook.ask(at, 1, headroom);
    if (expected.allowed !== allowed || expected.delay !== delay)
      return { index, priority, at, allowed, delay, expected };
  }
  return undefined;
}

const POLICIES: readonly Policy[] = [
  { algorithm: 'token-bucket', capacity: 60, refill: 60 },
  { algorithm: 'leaky-bucket', capacity: 60, drain: 60 },
  { algorithm: 'fixed-window', limit: 50, window: 250 },
  { algorithm: 'sliding-window-log', limit: 50, window: 300 },
  { algorithm: 'sliding-window-counter', limit: 50, window: 250 },
];

describe('processes of three classes on one key get what their textbook gives them, and no ride is rejected', () => {
  it.each(POLICIES)(
    '$algorithm',
    async (numbers) => {
      const policy = { ...numbers, name: numbers.algorithm, priorities: CLASSES } as Policy;
      const decided = await history(policy);
      expect(firstUnlike(decided, textbookOf(algorithmOf(policy)))).toBeUndefined();
      const rides = decided.filter(({ priority }) => priority === 'rides');
      expect(rides.filter(({ allowed }) => !allowed)).toEqual([]);
    },
    30_000,
  );

  it('their part of the places of a concurrency', async () => {
    const policy: Policy = { name: 'places', algorithm: 'concurrency', limit: 10, lease: '10s', priorities: CLASSES };
    const held = await limiters.processes.all('hold', (i) => ({ policy, ...SENDERS[i]! }));
    // A lease is held for at least this time: it is released after its end was noted.
    const ends = held.flatMap((numbers, i) => {
      const { priority } = SENDERS[i]!;
      return Array.from(numbers, (at, k) => ({ at, by: k % 2 === 0 ? 1 : -1, priority }));
    });
    const most = (priority: Class): number => {
      const lower = new Set(NAMES.slice(NAMES.indexOf(priority)));
      let [now, peak] = [0, 0];
      for (const { by } of ends
        .filter((one) => lower.has(one.priority))
        .toSorted((a, b) => a.at - b.at || a.by - b.by)) {
        now += by;
        peak = Math.max(peak, now);
      }
      return peak;
    };
    for (const priority of NAMES) expect(most(priority)).toBeLessThanOrEqual(partOf(priority, 10));
  }, 30_000);
});
