import type { Clock } from './store.js';

/** The wall clock, which pods share as well as NTP keeps it. */
export const wallClock: Clock = () => Date.now() * 1000;

/** Starts as the wall clock and never steps: what one process needs. */
const { timeOrigin } = performance;
export const monotonicClock: Clock = () => Math.floor((timeOrigin + performance.now()) * 1000);
