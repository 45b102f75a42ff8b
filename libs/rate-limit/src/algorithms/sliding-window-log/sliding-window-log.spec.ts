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

  it('keeps one instant for each unit of cost, oldest first', () => {
    const log = new SlidingWindowLog(10, 1_000, 10);
    let state = log.write(log.charge(log.read(undefined, 5, 0), 2), 5, undefined);
    state = log.write(log.charge(log.read(state, 9, 0), 3), 9, state);
    expect(state).toEqual({ instants: [5, 5, 9, 9, 9], first: 0 });
  });

  it('moves instants that lie ahead to now, and leaves expired ones expired', () => {
    const log = new SlidingWindowLog(10, 1_000, 10);
    const { state } = run(log, [0, 500, 1_200, 1_400]);
    expect(log.read(state, 1_300, 100).used).toBe(3);
    expect(log.isAhead(state, 1_300, 99)).toBe(true);
    const level = log.read(state, 1_300, 99);
    expect(level).toMatchObject({ used: 3, left: 1_000 });
    expect([1, 2, 3].map(level.expiry)).toEqual([200, 900, 1_000]);
    expect(log.write(level, 1_300, state).instants.slice(-3)).toEqual([500, 1_200, 1_300]);
  });
});
