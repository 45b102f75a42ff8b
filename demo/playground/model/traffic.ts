/**
 * What a client sends. `once`: one request. `impatient`: a script that tries again soon, whatever `Retry-After` says. `patient`: a
 * script that waits as told. `low`: one request of the lower class, which may fill a part of each limit. `crash`: no request; the process that holds the running requests dies.
 */
export type TrafficKind = 'once' | 'impatient' | 'patient' | 'low' | 'crash';

/** One moment of the traffic: whole milliseconds since the timeline's beginning. */
export interface TrafficEvent {
  readonly at: number;
  readonly kind: TrafficKind;
}

/** How often an impatient script tries again: in a window of up to a minute four times a second, else 40 times a window. */
export function impatientMs(windowMs: number): number {
  return windowMs <= 60_000 ? 250 : Math.round(windowMs / 40);
}

/** How much faster than the clock a timeline plays: a window passes within ten seconds. */
export function paceOf(windowMs: number): number {
  return Math.max(1, windowMs / 10_000);
}

/** Attempts of a script before it gives up. */
export const MAX_TRIES = 60;
/** The events that a timeline keeps. */
export const MAX_EVENTS = 2_000;
/** The length of a timeline, 100 years: what is due as much later still is a whole number of microseconds below 2^53. */
export const MAX_TIME_MS = 36_525 * 86_400_000;

/** A burst of `count` requests at once. */
export function burst(at: number, count: number, kind: TrafficKind = 'once'): readonly TrafficEvent[] {
  return Array.from({ length: count }, () => ({ at, kind }));
}

/** Where the script around a window's edge stands. */
export interface EdgeScript {
  readonly events: readonly TrafficEvent[];
  /** The distance between a burst and the edge. */
  readonly near: number;
  /** The edge. */
  readonly edge: number;
  /** When the script has been sent. */
  readonly end: number;
}

/** The part of a window between the two bursts and the edge. */
const NEAR_EDGE = 1 / 20;

/**
 * One whole limit just before an edge of the windows, and another one just after it. A whole window lies between now and the window
 * that the script fills, so that the traffic before does not blur what it shows.
 *
 * @param edgeAfter the first edge after a time; default those of windows of the clock
 */
export function edgeScript(
  now: number,
  limit: number,
  windowMs: number,
  edgeAfter = (time: number): number => (Math.floor(time / windowMs) + 1) * windowMs,
): EdgeScript {
  const near = Math.max(1, Math.round(windowMs * NEAR_EDGE));
  const edge = edgeAfter(edgeAfter(now));
  return { events: [...burst(edge - near, limit), ...burst(edge + near, limit)], near, edge, end: edge + near };
}
