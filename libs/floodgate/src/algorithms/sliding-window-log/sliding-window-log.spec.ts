import { describe, expect, it } from '@jest/globals';
import { SlidingWindowLog } from './sliding-window-log.js';

type State = Parameters<SlidingWindowLog['isAhead']>[0];

/** Decides requests of cost 1 at the given instants; each state is passed to the next request. */
function run(
  log: SlidingWindowLog,
  instants: readonly number[],
): { state: State; allowed: boolean[]; longest: number } {
  let state: State | undefined;
  let longest = 0;
  const allowed = instants.map((now) => {
    const level = log.read(state, now, 0);
    const fits = log.fits(level, 1);
    if (fits) state = log.write(log.charge(level, 1), now, state);
    longest = Math.max(longest, state?.instants.length ?? 0);
    return fits;
  });
  return { state: state!, allowed, longest };
}

describe('the sliding window log in memory', () => {
  it('removes expired instants: its array has at most twice the entries that count, plus 64', () => {
    const log = new SlidingWindowLog(100, 1_000, 100);
    const { longest, allowed } = run(
      log,
      Array.from({ length: 20_000 }, (_, i) => i * 10),
    );
    expect(allowed).not.toContain(false);
    expect(longest).toBeLessThanOrEqual(2 * 100 + 64);
  });

  it('decides the same before and after it removes expired instants', () => {
    const log = new SlidingWindowLog(70, 1_000, 70);
    const instants = Array.from({ length: 5_000 }, (_, i) => i * 7 + (i % 3));
    const admitted: number[] = [];
    const expected = instants.map((now) => {
      const fits = admitted.filter((instant) => instant > now - 1_000).length < 70;
      if (fits) admitted.push(now);
      return fits;
    });
    expect(run(log, instants).allowed).toEqual(expected);
    expect(expected).toContain(false);
  });
});
