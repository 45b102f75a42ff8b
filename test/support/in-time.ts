import { measured } from './turning-time.js';

/** Covers the work after a timer has fired, such as sending a response. */
const SLACK_MS = 200;

/**
 * Does some work and tells whether it took `ms` at the most, plus 200 ms for what follows a timer. Counts only the time in
 * which the event loop turns.
 */
export async function inTime<T>(ms: number, work: () => Promise<T>): Promise<{ result: T; inTime: boolean }> {
  const { result, ms: took } = await measured(work);
  return { result, inTime: took <= ms + SLACK_MS };
}
