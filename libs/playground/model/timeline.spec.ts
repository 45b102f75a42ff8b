import { describe, expect, it } from '@jest/globals';
import { assert, integer, property } from 'fast-check';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { anyEvents, anySettings, scaled } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import { busiest } from './admitted.js';
import type { Lane } from './lane.js';
import type { Algorithm } from './library.js';
import { PRESETS, presetOf } from './presets.js';
import { DEFAULTS, lowHeadroom, MONTH_MS, type Settings, UNITS } from './settings.js';
import { Timeline } from './timeline.js';
import { burst, edgeScript, impatientMs, MAX_TRIES, paceOf, type TrafficEvent } from './traffic.js';

const RUNS = histories(0.1);
const MICROSECONDS = 1000;
/** Beyond the traffic, for retries, releases and renewals: in a window of ten seconds. */
const AFTER_MS = 20_000;
const RENEWALS = 4;

function played(settings: Settings, events: readonly TrafficEvent[], to: number): Timeline {
  const timeline = new Timeline(settings, events);
  timeline.advance(to);
  return timeline;
}

function laneOf(timeline: Timeline, algorithm: string): Lane {
  return timeline.rows.find(({ policy }) => policy.algorithm === algorithm)!.lane;
}

const endOf = (events: readonly TrafficEvent[], { windowMs }: Settings): number =>
  (events.at(-1)?.at ?? 0) + Math.ceil(AFTER_MS * paceOf(windowMs));

/** The clients of a traffic, who ask a store of the library on a virtual clock; what they got, in order. */
function askedOfStore(algorithm: Algorithm, timeline: Timeline, to: number): unknown[] {
  const { settings, events, origin } = timeline;
  const clock = new VirtualClock(new Date(origin / MICROSECONDS));
  const store = new VirtualStore(clock);
  const key = 'rl:playground';
  const got: unknown[] = [];
  let life = 0;
  const send = (kind: TrafficEvent['kind'], tries: number): void => {
    const at = clock.read();
    const isLow = kind === 'low';
    const headroom = isLow ? lowHeadroom(algorithm) : 0;
    const { allowed, charges } = store.consume([{ key, algorithm, cost: 1, headroom }]);
    const { remaining, resetAfter, retryAfter, delay } = charges[0]!;
    got.push({ at, allowed, isRetry: tries > 1, isLow, remaining, resetAfter, retryAfter, delay });
    if (allowed && algorithm.lease !== undefined) hold({ key, algorithm, cost: 1, at, resetAt: at + resetAfter });
    if (allowed || kind === 'once' || isLow || tries === MAX_TRIES) return;
    clock.timer(kind === 'patient' ? retryAfter / MICROSECONDS : impatientMs(settings.windowMs), () =>
      send(kind, tries + 1),
    );
  };
  const hold = (first: Parameters<VirtualStore['refund']>[0][number]): void => {
    let receipt = first;
    const mine = life;
    const ends = first.at + settings.durationMs * MICROSECONDS;
    clock.timer(settings.durationMs, () => {
      if (mine === life) store.refund([receipt]);
    });
    const renewLater = (): void => {
      const wait = Math.floor(algorithm.lease!.length / RENEWALS);
      if (clock.read() + wait < ends) clock.timer(wait / MICROSECONDS, renew);
    };
    const renew = (): void => {
      if (mine !== life) return;
      const renewal = algorithm.lease!.renewal(receipt.resetAt);
      const { allowed, at, charges } = store.consume([{ key, algorithm: renewal, cost: 1 }]);
      expect(allowed).toBe(true);
      receipt = { ...receipt, at, resetAt: at + charges[0]!.resetAfter };
      renewLater();
    };
    renewLater();
  };
  for (const { at, kind } of events) {
    clock.advanceMicroseconds(origin + at * MICROSECONDS - clock.read());
    if (kind === 'crash') life++;
    else send(kind, 1);
  }
  clock.advanceMicroseconds(origin + to * MICROSECONDS - clock.read());
  return got;
}

describe('the lanes of the playground', () => {
  it('show what a store of the library decides of the same clients, field by field', () => {
    const law = property(anySettings, anyEvents, (settings, some) => {
      const events = scaled(some, settings);
      const timeline = played(settings, events, endOf(events, settings));
      for (const { lane } of timeline.rows) {
        const shown = lane.marks.map(({ until: _until, lostAt: _lostAt, ...decision }) => decision);
        expect(shown).toEqual(askedOfStore(lane.algorithm, timeline, timeline.now));
        expect(lane.allowed + lane.rejected).toBe(shown.length);
      }
    });
    assert(law, RUNS);
  });

  it('leave half of each limit to the requests behind a burst of low priority', () => {
    const timeline = played({ ...DEFAULTS, atOnce: 4 }, [...burst(0, 20, 'low'), ...burst(0, 20)], 0);
    const passed = (isLow: boolean): number[] =>
      timeline.rows.map(({ lane }) => lane.marks.filter((mark) => mark.allowed && mark.isLow === isLow).length);
    // The request that departs from the leaky bucket takes no waiting place.
    expect(passed(true)).toEqual([5, 6, 5, 5, 5, 2]);
    expect(passed(false)).toEqual([5, 5, 5, 5, 5, 2]);
    for (const { lane } of timeline.rows) expect([lane.hasLow, lane.lowPart]).toEqual([true, expect.closeTo(0.5, 1)]);
  });

  it('keep the promises of their algorithms in every interval', () => {
    const law = property(anySettings, anyEvents, (settings, some) => {
      const events = scaled(some, settings);
      const timeline = played(settings, events, endOf(events, settings));
      const { limit, windowMs, calendar, capacity, refill, per, atOnce } = settings;
      const most = (algorithm: string): number =>
        busiest(laneOf(timeline, algorithm).marks, windowMs * MICROSECONDS, timeline.clock).count;
      const refilled = (refill * windowMs) / UNITS[per];
      expect(most('token-bucket')).toBeLessThanOrEqual(capacity + refilled);
      expect(most('leaky-bucket')).toBeLessThanOrEqual(Math.ceil(refilled));
      // Thirty days reach into three months where one of them is February.
      expect(most('fixed-window')).toBeLessThanOrEqual((calendar === 'none' ? 2 : 3) * limit);
      expect(most('sliding-window-log')).toBeLessThanOrEqual(limit);
      expect(most('sliding-window-counter')).toBeLessThanOrEqual(Math.max(1, 2 * limit - 1));
      for (const { at, remaining } of laneOf(timeline, 'concurrency').marks) {
        const running = laneOf(timeline, 'concurrency').marks.filter(
          (mark) => mark.allowed && mark.at <= at && at < mark.until,
        );
        expect(running.length).toBeLessThanOrEqual(atOnce);
        expect(remaining).toBeGreaterThanOrEqual(0);
      }
    });
    assert(law, RUNS);
  });

  it('show the same picture however time has moved: as a stream, in one step, or from a link', () => {
    const law = property(anySettings, anyEvents, integer({ min: 20, max: 900 }), (settings, some, steps) => {
      const events = scaled(some, settings);
      const step = Math.round(steps * paceOf(settings.windowMs));
      const end = endOf(events, settings);
      const whole = played(settings, events, end);
      const live = new Timeline(settings);
      const rest = [...events];
      while (live.now < end) {
        const to = Math.min(end, live.now + step, rest[0]?.at ?? end);
        live.advance(to);
        while (rest[0]?.at === to) live.add([rest.shift()!]);
      }
      for (const [i, { lane }] of whole.rows.entries()) {
        expect(live.rows[i]!.lane.marks).toEqual(lane.marks);
        expect(live.rows[i]!.lane.used(live.clock)).toBe(lane.used(whole.clock));
      }
      expect(live.events).toEqual(events);
    });
    assert(law, RUNS);
  });

  it('draws levels from 0 to 1: at 1 a request is rejected', () => {
    const law = property(anySettings, anyEvents, (settings, some) => {
      const events = scaled(some, settings);
      const timeline = played(settings, events, events.at(-1)?.at ?? 0);
      for (const { lane } of timeline.rows) {
        for (const { used } of lane.samples) {
          expect(used).toBeGreaterThanOrEqual(0);
          expect(used).toBeLessThanOrEqual(1);
        }
        const passes = lane.outlook(timeline.clock).retryAfter === 0;
        expect(passes && lane.used(timeline.clock) === 1).toBe(false);
      }
    });
    assert(law, RUNS);
  });
});

describe('the edge of a window', () => {
  const script = edgeScript(0, DEFAULTS.limit, DEFAULTS.windowMs);
  const timeline = played(DEFAULTS, script.events, script.end);

  it.each([
    ['fixed-window', 20],
    ['sliding-window-log', 10],
    ['sliding-window-counter', 10],
    ['token-bucket', 11],
    ['leaky-bucket', 12],
    ['concurrency', 3],
  ])('lets %s pass %i of 20 requests', (algorithm, passed) => {
    expect(laneOf(timeline, algorithm).allowed).toBe(passed);
  });

  it('lies within a second, around a multiple of the window', () => {
    expect(script).toMatchObject({ edge: 20_000, end: 20_500 });
    expect(script.events).toHaveLength(20);
    const { count, from, to } = busiest(laneOf(timeline, 'fixed-window').marks, 10_000_000, timeline.clock);
    expect([count, to - from]).toEqual([20, 1_000_000]);
  });
});

describe('a month of the calendar', () => {
  const settings: Settings = { ...DEFAULTS, windowMs: MONTH_MS, calendar: 'month', limit: 5 };
  const day = (count: number): number => count * UNITS.d;

  it('ends with the month, whatever its length: the other windows are 30 days', () => {
    const timeline = played(settings, [...burst(day(31) - 1, 6), ...burst(day(31), 6), ...burst(day(60), 6)], day(60));
    const fixed = laneOf(timeline, 'fixed-window');
    expect(fixed.allowed).toBe(15);
    const rejected = fixed.marks.filter(({ allowed }) => !allowed).map(({ retryAfter }) => retryAfter / MICROSECONDS);
    expect(rejected).toEqual([1, day(29), day(31)]);
    expect(laneOf(timeline, 'sliding-window-log').allowed).toBe(5);
  });

  it('has an edge around which twice its limit passes', () => {
    const timeline = played(settings, [], 0);
    const edges = [0, day(31), day(60)].map((time) => timeline.edgeAfter(time));
    expect(edges).toEqual([day(31), day(60), day(91)]);
    const script = edgeScript(0, 5, MONTH_MS, (time) => timeline.edgeAfter(time));
    expect(script.edge).toBe(day(60));
    expect(laneOf(played(settings, script.events, script.end), 'fixed-window').allowed).toBe(10);
  });

  it('has the level of each edge in its samples', () => {
    const { lane } = played(settings, burst(day(30), 5), day(95)).rows[2]!;
    const at = lane.samples.map((one) => one.at);
    for (const edge of [31, 60, 91]) expect(at).toContain(new Timeline(settings).origin + day(edge) * MICROSECONDS);
  });
});

describe('the scripts that try again', () => {
  const settings = { ...DEFAULTS, limit: 1 };
  const marksOf = (kind: 'patient' | 'impatient'): readonly [number, boolean][] =>
    laneOf(played(settings, burst(500, 2, kind), 15_000), 'fixed-window').marks.map(({ at, allowed }) => [
      (at - new Timeline(settings).origin) / 1_000_000,
      allowed,
    ]);

  it('pass at the same time, whether they wait as told or not', () => {
    expect(marksOf('patient')).toEqual([
      [0.5, true],
      [0.5, false],
      [10, true],
    ]);
    const impatient = marksOf('impatient');
    expect(impatient.at(-1)).toEqual([10, true]);
    expect(impatient.filter(([, allowed]) => !allowed)).toHaveLength(38);
  });
});

describe('a pod that dies', () => {
  it('leaves its leases to end by themselves', () => {
    const events: TrafficEvent[] = [
      ...burst(0, 3),
      { at: 1_000, kind: 'crash' },
      ...burst(3_000, 1),
      ...burst(9_999, 1),
    ];
    const marks = laneOf(played(DEFAULTS, [...events, ...burst(10_000, 1)], 10_000), 'concurrency').marks;
    expect(marks.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false, true]);
    const alive = laneOf(played(DEFAULTS, [...burst(0, 3), ...burst(3_000, 1)], 3_000), 'concurrency');
    expect([alive.allowed, alive.held]).toEqual([4, 1]);
  });
});

describe('the presets', () => {
  const named = PRESETS.map((preset) => [preset.settings.preset, preset] as const);

  it.each(named)('%s begins on an empty limit, and shows requests that pass and that are rejected', (_, preset) => {
    const timeline = played(preset.settings, preset.events, preset.now);
    const lanes = timeline.rows.map(({ lane }) => lane);
    for (const { samples } of lanes) expect(samples[0]).toEqual({ at: timeline.origin, used: 0 });
    const told = lanes.filter(({ algorithm }) => [algorithm.name, undefined].includes(preset.algorithm));
    expect(told.length).toBeGreaterThan(0);
    for (const { allowed, rejected } of told) expect([allowed > 0, rejected > 0]).toEqual([true, true]);
  });

  it.each(named)('%s is customised as soon as one of its settings is another one', (name, preset) => {
    expect(presetOf(preset.settings)).toEqual({ preset, isCustomised: false });
    const others: Partial<Settings>[] = [
      { capacity: 77 },
      { windowMs: 77_000 },
      { durationMs: 700 },
      { name: 'x' },
      { pro: 7 },
    ];
    for (const other of others) {
      const settings = { ...preset.settings, ...other };
      expect([name, other, presetOf(settings)]).toEqual([name, other, { preset, isCustomised: true }]);
    }
  });

  it('have times in order', () => {
    for (const { events, now } of PRESETS) {
      expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => a - b));
      expect(events.at(-1)!.at).toBeLessThanOrEqual(now);
    }
  });

  it('take no events of the past', () => {
    const { settings, events, now } = PRESETS[0]!;
    const timeline = played(settings, events, now);
    expect(() => timeline.add(burst(24_999, 1))).toThrow('the event at 24999 ms lies before now, 25000 ms');
  });
});

describe('a timeline', () => {
  it('is quiet as soon as nothing more happens, and not before', () => {
    const law = property(anySettings, anyEvents, (settings, some) => {
      const events = scaled(some, settings);
      const timeline = played(settings, events, endOf(events, settings));
      if (!timeline.isQuiet) return;
      const before = timeline.rows.map(({ lane }) => lane.marks.length);
      timeline.advance(timeline.now + settings.windowMs * 3);
      for (const [i, { lane }] of timeline.rows.entries()) {
        expect([lane.marks.length, lane.used(timeline.clock), lane.held]).toEqual([before[i], 0, 0]);
      }
    });
    assert(law, RUNS);
    expect(new Timeline(DEFAULTS).isQuiet).toBe(true);
    expect(played(DEFAULTS, burst(0, 1), 9_999).isQuiet).toBe(false);
    expect(played(DEFAULTS, burst(0, 1), 20_000).isQuiet).toBe(true);
  });

  it('is as quick over a century as over a minute', () => {
    const timeline = played(DEFAULTS, burst(0, 100, 'impatient'), 36_525 * UNITS.d);
    expect(timeline.rows.map(({ lane }) => lane.samples.length < 4_000)).toEqual(Array(6).fill(true));
    expect(timeline.isQuiet).toBe(true);
  });
});
