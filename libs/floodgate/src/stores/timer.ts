import { unheld } from '../util/runtime.js';

/**
 * Runs `task` once, `ms` milliseconds from now and never earlier.
 *
 * @param isUpkeep whether no caller waits for the task, such as a renewal. The timer then does not keep the process alive. Default false
 * @returns cancels the task
 */
export type Timer = (ms: number, task: () => void, isUpkeep?: boolean) => () => void;

/** A timer, and the clock that it follows. */
export interface Timing {
  readonly timer: Timer;
  /** Milliseconds. */
  readonly nowMs: () => number;
}

/** The timer and the clock of a store that has its own, such as one of a test; else those of the process. */
export function timingOf({ timer, clock }: { readonly timer?: Timer | undefined; readonly clock?: unknown }): Timing {
  if (timer !== undefined && typeof clock === 'function') {
    return { timer, nowMs: () => (clock as () => number)() / MICROSECONDS };
  }
  return { timer: timer ?? processTimer, nowMs: () => performance.now() };
}

/** setTimeout takes no more. A longer wait is armed again. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Microseconds in a millisecond. */
const MICROSECONDS = 1000;

/** The timer of the process. Node's timers fire early by up to a millisecond, so the clock is read again. */
export const processTimer: Timer = (ms, task, isUpkeep = false) => {
  const dueAt = performance.now() + ms;
  const { clearTimeout } = globalThis; // a test may fake it meanwhile, and would forget no real timer
  const arm = (left: number): NodeJS.Timeout => {
    const timer = setTimeout(check, Math.min(Math.ceil(left), MAX_TIMER_MS));
    return isUpkeep ? unheld(timer) : timer;
  };
  const check = (): void => {
    const left = dueAt - performance.now();
    if (left > 0) timeout = arm(left);
    else task();
  };
  let timeout = arm(ms);
  return () => clearTimeout(timeout);
};
