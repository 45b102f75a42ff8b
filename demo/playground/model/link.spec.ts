import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, integer, property, string, tuple } from 'fast-check';
import { anyText } from '../../../test/support/any-text.js';
import { anyEvents, anySettings } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import { readLink, type Shared, writeLink } from './link.js';
import { problemOf } from './code.js';
import { DEFAULTS, RANGES } from './settings.js';
import { MAX_EVENTS, MAX_TIME_MS, type TrafficEvent } from './traffic.js';

const RUNS = histories(0.2);
const anyTime = integer({ min: 0, max: MAX_TIME_MS });

/** Whether a page can show it. */
function expectShowable({ settings, events, now }: Shared): void {
  for (const [name, { min, max }] of Object.entries(RANGES)) {
    const value = settings[name as keyof typeof RANGES];
    expect(value).toBeGreaterThanOrEqual(min);
    expect(value).toBeLessThanOrEqual(max);
  }
  expect(problemOf(settings)).toBeUndefined();
  expect(events.length).toBeLessThanOrEqual(MAX_EVENTS);
  expect(events.every(({ at }, i) => Number.isInteger(at) && at >= (events[i - 1]?.at ?? 0))).toBe(true);
  for (const time of [now, events.at(-1)?.at ?? 0]) expect(Number.isInteger(time) && time <= MAX_TIME_MS).toBe(true);
}

describe('a link', () => {
  it('holds the numbers, the traffic and the time', () => {
    const law = property(anySettings, anyEvents, anyTime, (settings, events, now) => {
      const { hash, omitted } = writeLink({ settings, events, now });
      expect(readLink(hash)).toEqual({ shared: { settings, events, now }, problems: [] });
      const all = { settings, events, now, isAll: true };
      expect(readLink(writeLink(all).hash)).toEqual({ shared: all, problems: [] });
      expect(omitted).toBe(0);
      expect(hash).toMatch(/^#[\w=&.%-]+$/);
    });
    assert(law, RUNS);
  });

  it('of before shows what it showed: seven numbers, the traffic and the time', () => {
    const hash = '#v=1&c=7&r=0.5&l=5&w=60&n=3&d=30&e=1&t=25000&x=15o_e.R1jk-p0_6.X8vg.La_a';
    const { shared, problems } = readLink(hash)!;
    expect(problems).toEqual([]);
    const numbers = {
      capacity: 7,
      refill: 0.5,
      limit: 5,
      windowMs: 60_000,
      atOnce: 3,
      durationMs: 30_000,
      leaseMs: 1_000,
    };
    expect(shared).toMatchObject({ settings: { ...DEFAULTS, ...numbers }, now: 25_000 });
    expect(shared.events).toHaveLength(31);
    expect(writeLink(shared).hash).toBe(hash);
  });

  it('leaves out the oldest requests where it would get too long, and says how many', () => {
    const events = Array.from({ length: MAX_EVENTS }, (_, i): TrafficEvent => ({ at: i * i, kind: 'once' }));
    const { hash, omitted } = writeLink({ settings: DEFAULTS, events, now: MAX_TIME_MS });
    expect(omitted).toBeGreaterThan(0);
    expect(hash.length).toBeLessThan(4_200);
    expect(readLink(hash)!.shared.events).toEqual(events.slice(omitted));
  });

  it('survives whatever stands in an address', () => {
    const cut = tuple(anyEvents, integer({ min: 0, max: 120 }), string({ maxLength: 8 })).map(([events, at, other]) => {
      const { hash } = writeLink({ settings: DEFAULTS, events, now: 0 });
      return `${hash.slice(0, at)}${other}${hash.slice(at + other.length)}`;
    });
    const wild = tuple(constantFrom('#v=1&x=', '#v=1&c=', '#v=1&t=', '#v=', '#', ''), anyText(60));
    const check = (hash: string): void => {
      const read = readLink(hash);
      if (read !== undefined) expectShowable(read.shared);
    };
    assert(property(cut, check), RUNS);
    assert(
      property(wild, ([start, rest]) => check(start + rest)),
      RUNS,
    );
  });

  it.each([
    ['#v=2&c=5', "its version must be 1, got '2'"],
    ['#timeline', 'its version must be 1, got none'],
    ['#v=1&c=0', 'Capacity must be a whole number from 1 to 1,000,000 tokens, got 0'],
    ['#v=1&w=1e10', 'Window must be a number with at most one decimal from 0.1 s to 18,262 d, got 1e10 s'],
    ['#v=1&t=-5', "its time must be milliseconds from 0 to 3155760000000, got '-5'"],
    ['#v=1&k=year', "its calendar must be one of none, month, got 'year'"],
    ['#v=1&k=month&w=60', 'Beside a month of the calendar the other windows are 30d, got 1m'],
    ['#v=1&d=101&e=1', 'A request takes at most 100 leases, got 101s with a lease of 1s'],
    ['#v=1&x=5.%3Cb%3E', "its traffic ends before '<b>', which is no traffic"],
    ['#v=1&x=zzzzzzzzz', 'its traffic ends at 3155760000000 ms, the longest timeline'],
    ['#v=1&x=0_zzz', 'its traffic ends after 2000 events, the most'],
  ])('with something wrong says it: %s', (hash, problem) => {
    expect(readLink(hash)!.problems).toEqual([problem]);
  });
});
