import { hash } from 'node:crypto';
import type { Algorithm } from '../../algorithms/core/algorithm.js';
import { FixedWindow } from '../../algorithms/fixed-window/fixed-window.js';
import { SlidingWindowLog } from '../../algorithms/sliding-window-log/sliding-window-log.js';
import type { Charge } from '../../stores/charge.js';

/** Microseconds: windows are not shorter. */
const SHORTEST = 1000;

/** The algorithms of marks, by those of the policies. */
const ALGORITHMS = new WeakMap<Algorithm, Algorithm>();

/**
 * Makes the charge that fits once for each window, identity and level, over all processes: the process whose charge is allowed tells of
 * the level. The window is that of a fixed window, or the time in which another algorithm grants its limit once.
 *
 * @param key of the policy's state: the mark is kept beside it
 * @param resetAt when a fixed window ends, in microseconds
 */
export function markOf(key: string, algorithm: Algorithm, level: number, resetAt: number): Charge {
  // The end is in the key, because the mark of a request may be charged when the next window has begun.
  const window = algorithm instanceof FixedWindow ? resetAt : '';
  const tag = key.indexOf('}') + 1;
  const which = hash('sha256', `${key.slice(tag)} ${level} ${algorithm.limit} ${window}`, 'base64url').slice(0, 22);
  return { key: `${key.slice(0, tag)}:threshold:#${which}`, algorithm: onceIn(algorithm), cost: 1, mode: 'take' };
}

function onceIn(algorithm: Algorithm): Algorithm {
  let once = ALGORITHMS.get(algorithm);
  if (once === undefined) {
    once =
      algorithm instanceof FixedWindow
        ? algorithm.withLimit(1)
        : new SlidingWindowLog(1, Math.max(SHORTEST, Math.ceil(algorithm.window)), 1);
    ALGORITHMS.set(algorithm, once);
  }
  return once;
}
