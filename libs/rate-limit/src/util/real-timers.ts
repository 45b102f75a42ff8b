import * as timers from 'node:timers';

/**
 * The timers of the process, for what waits for Redis itself. They are taken once: tests that replace the globals (Jest, Vitest, Sinon)
 * hold time, not Redis's answers.
 */
export const { setTimeout, clearTimeout, setImmediate, clearImmediate } = timers;
export const nextTick = process.nextTick.bind(process);
export const realNow = performance.now.bind(performance);
