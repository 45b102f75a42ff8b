/** The clock and the timers of a client, in milliseconds. Tests inject their own. */
export interface ClientTime {
  /** Milliseconds of a clock that never steps; its origin does not matter. */
  readonly now: () => number;
  /** Milliseconds since 1970. Read only to understand an HTTP date of a response without a `Date` field. */
  readonly wallNow: () => number;
  /** Runs a task once after `ms` milliseconds, and returns a function that cancels it. */
  readonly setTimer: (task: () => void, ms: number) => () => void;
}

/** The longest time of a platform's timer: 2^31 - 1 milliseconds. A longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The time of the platform: browsers, Deno, Bun, Node and edge runtimes. */
export const platformTime: ClientTime = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer: (task, ms) => {
    const timer = setTimeout(task, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
