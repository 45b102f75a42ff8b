import { describe, expect, it } from '@jest/globals';
import { assert, integer, property } from 'fast-check';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { anyEvents, anySettings, scaled } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import type { Lane } from './lane.js';
import type { Algorithm } from './library.js';
import { PRESETS } from './presets.js';
import { lowHeadroom, type Settings } from './settings.js';
import { Timeline } from './timeline.js';
import { impatientMs, MAX_TRIES, paceOf, type TrafficEvent } from './traffic.js';

const RUNS = histories(0.06);
const MICROSECONDS = 1000;
/** Beyond the traffic, for retries, releases and renewals: in a window of ten seconds. */
const AFTER_MS = 20_000;
const RENEWALS = 4;

function played(settings: Settings, events: readonly TrafficEvent[], to: number): Timeline {
  const timeline = new Timeline(settings, events);
  timeline.advance(to);
  return timeline;
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
});

describe('the presets', () => {
  const named = PRESETS.map((preset) => [preset.settings.preset, preset] as const);

  it.each(named)(
    '%s begins on an empty limit, and shows requests that pass, that are rejected, and that fare otherwise beside it',
    (_, preset) => {
      const timeline = played(preset.settings, preset.events, preset.now);
      const lanes = timeline.rows.map(({ lane }) => lane);
      for (const { samples } of lanes) expect(samples[0]).toEqual({ at: timeline.origin, used: 0 });
      const [fits, other] = preset.pair.map((name) => lanes.find(({ algorithm }) => algorithm.name === name)!);
      expect([fits!.allowed > 0, fits!.rejected > 0]).toEqual([true, true]);
      const faresOf = ({ marks }: Lane): unknown[] => marks.map(({ allowed, until }) => [allowed, until]);
      expect(faresOf(other!)).not.toEqual(faresOf(fits!));
    },
  );
});
