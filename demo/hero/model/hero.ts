import { CITY } from './city.js';
import { type Request, rush } from './rush.js';

/** One world at an instant. */
export interface WorldState {
  readonly sent: number;
  readonly waiting: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  /** 99 % of the riders who have an answer, or gave up, waited no longer: milliseconds; 0 before the first of them. */
  readonly waitMs: number;
}

/** The two worlds: the same rush without a limit and with it. */
export interface Worlds<T> {
  readonly without: T;
  readonly within: T;
}

/** What a visitor sets. Both are requests per second. */
export interface Settings {
  readonly demand: number;
  readonly limit: number;
}

/** All requests of both worlds. */
export type Rush = Worlds<readonly Request[]>;

export const SETTINGS: Settings = { demand: CITY.demand, limit: CITY.limit.refill };

/** The axes of the picture. */
export const AXES = { lengthMs: CITY.rushMs, patienceMs: CITY.patienceMs, atOnceMs: 80 };

/** Requests per second that matching can serve. */
export const CAPACITY = (CITY.workers * 1000) / CITY.serviceMs;

/** When the last rider has an answer, or has given up, in seconds since the rush began. */
export const END_SECONDS = (CITY.rushMs + CITY.patienceMs) / 1000;

/** The same riders in both worlds. */
export function rushOf({ demand, limit }: Settings): Rush {
  const city = { ...CITY, demand, limit: { ...CITY.limit, refill: limit } };
  return { without: rush(city, false), within: rush(city, true) };
}

/** Both worlds at `seconds` since the rush began. */
export function stateAt(rushes: Rush, seconds: number): Worlds<WorldState> {
  return { without: worldAt(rushes.without, 1000 * seconds), within: worldAt(rushes.within, 1000 * seconds) };
}

/** In each frame of the film the world with the limit has so many times the served riders: a glance at two numbers tells which one wins. */
export const LEAD = 4 / 3;

/**
 * When the film begins: once the world with the limit has `LEAD` times as many served riders as the other one, in whole tenths of a second.
 * Before that, the queue of the other one hides what it costs.
 */
export function beginOf(rushes: Rush): number {
  for (let tenths = Math.floor(10 * END_SECONDS); tenths > 0; tenths--) {
    if (servedBy(rushes.within, 100 * tenths) < LEAD * servedBy(rushes.without, 100 * tenths)) return (tenths + 1) / 10;
  }
  return 0;
}

function servedBy(requests: readonly Request[], nowMs: number): number {
  return requests.filter(({ outcome, endedAt }) => outcome === 'served' && endedAt <= nowMs).length;
}

/** What the picture shows, in a sentence. */
export function captionOf({ without, within }: Worlds<WorldState>, hasEnded: boolean): string {
  if (!hasEnded) {
    if (without.failed > 0)
      return 'The queue is 3 s long: everyone leaves, and the service works for riders who have left.';
    if (!hasQueue(without)) return 'Both sides keep up.';
    if (hasQueue(within)) return 'The queue grows on both sides.';
    return without.served > within.served
      ? 'Without a limit, ahead for now: its queue grows.'
      : 'Without a limit the queue grows.';
  }
  const more = within.served - without.served;
  if (within.failed > 0) {
    return `The limit is higher than the ${Math.floor(CAPACITY)} requests a second that the service can do: the queue grows on both sides.`;
  }
  if (more > 0) return `${more} more rides, by saying no ${within.refused} times.`;
  if (within.refused === 0) return 'The service keeps up. It needs no limit for so few riders.';
  return `The limit is lower than it has to be${more < 0 ? `, and costs ${-more} rides` : ''}.`;
}

/** Whether more wait than chance brings together. */
function hasQueue({ waiting }: WorldState): boolean {
  return waiting > 4 * CITY.workers;
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
  return { ...count, waitMs: waits[Math.ceil(0.99 * waits.length) - 1] ?? 0 };
}
