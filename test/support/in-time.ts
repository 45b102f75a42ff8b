import { setTimeout as delay } from 'node:timers/promises';

/** For what comes after a timer: a response, say. */
const SLACK_MS = 200;

/**
 * Does some work and tells whether it was done after `ms` at the latest, by a timer that was started with it: on a busy
 * machine both are late.
 */
export async function inTime<T>(ms: number, work: () => Promise<T>): Promise<{ result: T; inTime: boolean }> {
  const since = performance.now();
  const timer = delay(ms).then(() => performance.now());
  const result = await work();
  const done = performance.now();
  return { result, inTime: done - since <= ms || done <= (await timer) + SLACK_MS };
}
