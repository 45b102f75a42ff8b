import { CITY } from './city.js';
import { type Request, rush } from './rush.js';

/** One world at an instant. */
export interface WorldState {
  readonly sent: number;
  readonly waiting: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  /** The part of the requests sent so far that failed, 0 to 1. */
  readonly failedShare: number;
  /** 99 % of the riders who have an answer, or gave up, waited no longer: milliseconds; 0 before the first of them. */
  readonly waitMs: number;
}

/** The two worlds: the same rush without limits and with them. */
export interface Worlds<T> {
  readonly without: T;
  readonly within: T;
}

/** All requests of both worlds. */
export const REQUESTS: Worlds<readonly Request[]> = { without: rush(CITY, false), within: rush(CITY, true) };

/** When the last rider has an answer, or has given up, in seconds since the rush began. */
export const END_SECONDS = (CITY.rushMs + CITY.patienceMs) / 1000;

/** Both worlds at `seconds` since the rush began. */
export function stateAt(seconds: number): Worlds<WorldState> {
  return { without: worldAt(REQUESTS.without, 1000 * seconds), within: worldAt(REQUESTS.within, 1000 * seconds) };
}

function worldAt(requests: readonly Request[], nowMs: number): WorldState {
  const count = { sent: 0, waiting: 0, served: 0, refused: 0, failed: 0 };
  const waits: number[] = [];
  for (const { sentAt, endedAt, outcome } of requests) {
    if (sentAt > nowMs) break;
    count.sent++;
    count[endedAt <= nowMs ? outcome : 'waiting']++;
    if (endedAt <= nowMs) waits.push(endedAt - sentAt);
  }
  waits.sort((a, b) => a - b);
  return {
    ...count,
    failedShare: count.sent === 0 ? 0 : count.failed / count.sent,
    waitMs: waits[Math.ceil(0.99 * waits.length) - 1] ?? 0,
  };
}
