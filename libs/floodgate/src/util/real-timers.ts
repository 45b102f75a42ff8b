import {
  clearImmediate as realClearImmediate,
  clearTimeout as realClearTimeout,
  setImmediate as realSetImmediate,
  setTimeout as realSetTimeout,
} from 'node:timers';
import { isWorker } from './runtime.js';

/**
 * The timers of the process, for what waits for Redis itself. They are taken once: tests that replace the globals (Jest, Vitest, Sinon)
 * hold time, not Redis's answers.
 */
export let setTimeout = realSetTimeout;
export let clearTimeout = realClearTimeout;
export let setImmediate = realSetImmediate;
export let clearImmediate = realClearImmediate;
export let nextTick: (task: () => void) => void = process.nextTick.bind(process);
export let realNow: () => number = performance.now.bind(performance);

const isInWorker = isWorker();

/** Runs a task once this turn of the event loop has ended. In a Worker it runs before that: the request may end with the turn. */
export function atTurnsEnd(task: () => void): void {
  if (isInWorker) queueMicrotask(task);
  else setImmediate(task);
}

/** Takes the globals as they are now: for a simulation whose Redis lives in the same virtual time. Returns what takes them back. */
export function takeGlobals(): () => void {
  const before = { setTimeout, clearTimeout, setImmediate, clearImmediate, nextTick, realNow };
  ({ setTimeout, clearTimeout, setImmediate, clearImmediate } = globalThis);
  const { performance: clock } = globalThis;
  nextTick = process.nextTick.bind(process);
  realNow = (): number => clock.now();
  return () => ({ setTimeout, clearTimeout, setImmediate, clearImmediate, nextTick, realNow } = before);
}
