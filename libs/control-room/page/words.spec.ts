import { describe, expect, it } from '@jest/globals';
import type { PhaseFigures, Sample, SurgeDescription, SurgeTick } from '../stage/surge-tick.js';
import { judge, recallOf } from './tiles.js';
import { aboutOf, busyText, captionOf, ofTen, stateOf, storyOf } from './words.js';

const SURGE: SurgeDescription = {
  seconds: 60,
  cores: 2,
  scale: 2,
  riders: 1000,
  demand: 212,
  capacity: 85,
  limit: 75,
  patienceMs: 3000,
};

const sample = (of: Partial<Sample>): Sample => ({
  atMs: 10_000,
  served: 0,
  refused: 0,
  failed: 0,
  p99Ms: null,
  rides: 0,
  waiting: 0,
  utilisation: 0,
  enforced: false,
  decider: 'none',
  ...of,
});

const figures = (of: Partial<PhaseFigures>): PhaseFigures => ({
  seconds: 36,
  sent: 1000,
  served: 1000,
  refused: 0,
  failed: 0,
  medianMs: 100,
  p99Ms: 120,
  refusedMedianMs: null,
  rides: 500,
  recoveredAfterS: null,
  ...of,
});

const tick = (of: Partial<SurgeTick>): SurgeTick => ({
  phase: 'ready',
  problem: null,
  atMs: 0,
  secondsLeft: 0,
  worlds: null,
  busy: null,
  verdicts: [],
  ...of,
});

/** The texts have spaces that do not break. */
const plain = (text: string): string => text.replaceAll('\u00A0', ' ');

it.each([
  [1, 'All'],
  [0.97, 'Nearly all'],
  [0.94, '9 of 10'],
  [0.61, '6 of 10'],
  [0.1, '1 of 10'],
  [0.05, '5 of 100'],
  [0.012, '1 of 100'],
  [0.004, 'A few'],
])('calls a share of %d "%s"', (share, words) => expect(ofTen(share)).toBe(words));

describe('the caption of a chart', () => {
  it.each<[Partial<Sample>, string]>([
    [{}, 'Nobody asks for a ride.'],
    [{ served: 42, p99Ms: 104 }, 'Everybody is served within 104 ms.'],
    [{ served: 80, p99Ms: 2300 }, 'Nobody gets an error yet, but riders wait up to 2.3 s.'],
    [
      { served: 60, failed: 90, p99Ms: 3000 },
      '6 of 10 riders wait up to 3.0 s and get an error: more queue up than matching can serve.',
    ],
    [
      { served: 75, refused: 135, p99Ms: 180, enforced: true },
      '6 of 10 are told “not now” in milliseconds, so that the others are served within 180 ms. Nobody gets an error.',
    ],
    [
      { served: 50, refused: 100, failed: 50, p99Ms: 2900, enforced: true },
      '3 of 10 riders wait up to 3.0 s and get an error. 5 of 10 are turned away at once.',
    ],
    // With limits, something else is the reason: a machine that is too busy.
    [{ served: 75, failed: 25, p99Ms: 6000, enforced: true }, '3 of 10 riders wait up to 6.0 s and get an error.'],
  ])('%j', (of, words) => expect(plain(captionOf(sample(of), SURGE))).toBe(words));
});

describe('what a world says of its limits', () => {
  it.each([
    [false, 75, 'No limits: all requests reach matching'],
    [true, 75, 'Limits on: 75/s reach matching'],
    [true, 85, 'Limits on: 85/s reach matching'],
    [true, 150, 'Limits on: 150/s reach matching, which serves only 85/s: this limit is too high to protect it'],
  ])('on: %s, a limit of %d/s', (on, limit, words) => expect(plain(aboutOf(on, { ...SURGE, limit }))).toBe(words));
});

describe('the story of a phase', () => {
  it.each<[Partial<PhaseFigures>, boolean, string]>([
    [{ sent: 0 }, false, 'Nobody asked for a ride.'],
    [{}, false, 'Everybody was served, 99 of 100 within 120 ms.'],
    [{ served: 300, failed: 700, p99Ms: 3046 }, false, '7 of 10 riders waited up to 3.0 s for nothing but an error.'],
    [
      { served: 360, refused: 640, refusedMedianMs: 4.1 },
      false,
      '6 of 10 were told “not now” within 4.1 ms. All others were served.',
    ],
    [
      { failed: 100, recoveredAfterS: 15.6 },
      true,
      '16 s after the switch it was fast again, and stayed so. Until then matching worked for riders who had left: ' +
        'a limit protects before the queue fills.',
    ],
    [{ failed: 100, recoveredAfterS: 0.4 }, true, 'Within a second it was fast again, and stayed so.'],
    [{ failed: 100 }, true, 'It had not recovered when the run ended.'],
  ])('%j, recovers: %s', (of, recovers, words) => expect(plain(storyOf(figures(of), recovers))).toBe(words));
});

describe('the state', () => {
  it('tells the result after a run', () => {
    const left = figures({ sent: 7000, failed: 4900 });
    const verdicts = [{ phase: 'surge' as const, worlds: { left, right: figures({ sent: 7460 }) }, busy: null }];
    expect(stateOf(tick({ verdicts }), SURGE)).toBe(
      'In the surge 70 of 100 requests failed without limits, and none failed with them.',
    );
  });

  it('tells no result of a machine that was too busy', () => {
    const busy = { othersCpu: 1.4, idleCpu: 0, lateP99Ms: 300 };
    const worlds = { left: figures({ failed: 900 }), right: figures({ failed: 800 }) };
    const state = stateOf(tick({ verdicts: [{ phase: 'surge', worlds, busy }] }), SURGE);
    expect(state).toContain('was too busy');
    expect(state).not.toContain('failed');
  });

  it('names the problem of worlds that are unavailable', () => {
    expect(stateOf(tick({ phase: 'unavailable', problem: 'a process ended' }), SURGE)).toContain('a process ended');
  });

  it('says why a world that has its limits back is not fast yet', () => {
    const recovery = (waiting: number): string => {
      const world = { sample: sample({ enforced: true, waiting }) };
      return stateOf(tick({ phase: 'recovery', worlds: { left: world, right: world } as never }), SURGE);
    };
    // Matching serves 255 requests within the riders' patience.
    expect(recovery(256)).toBe(
      'Limits are on in both worlds now. But 256 requests still wait in the first world, most of whose riders leave before a worker is free.',
    );
    expect(recovery(255)).toBe(
      'Limits are on in both worlds now. The crowd is the same, and the first world recovers.',
    );
  });

  it('does not say that a world recovers whose limits are still off', () => {
    const world = { sample: sample({ enforced: false }) };
    const worlds = { left: world, right: world } as unknown as SurgeTick['worlds'];
    expect(stateOf(tick({ phase: 'recovery', worlds }), SURGE)).not.toContain('recovers');
  });
});

it('names what keeps the machine busy', () => {
  expect(busyText({ othersCpu: 1.42, idleCpu: 0, lateP99Ms: 300 }, 2, 'then')).toContain(
    'other processes used 1.4 of 2 cores',
  );
  expect(plain(busyText({ othersCpu: 0.1, idleCpu: 0.04, lateP99Ms: 300 }, 2, 'now'))).toContain(
    '0.0 of 2 cores are idle, and requests 300 ms late',
  );
});

describe('the thresholds of tiles', () => {
  it.each<[string, Partial<Sample>, number, [boolean, boolean, boolean]]>([
    ['nothing while nobody asks', {}, 0, [false, false, false]],
    ['no failure and fast answers', { served: 75, refused: 135, p99Ms: 180 }, 212, [false, false, false]],
    ['1 % failures', { served: 99, failed: 1, p99Ms: 180 }, 100, [true, false, false]],
    ['less than 1 % failures', { served: 999, failed: 9, p99Ms: 180 }, 1008, [false, false, false]],
    ['a p99 of a second', { served: 75, p99Ms: 1000 }, 75, [false, true, false]],
    ['less than half of the capacity', { served: 42, refused: 160, p99Ms: 180 }, 212, [false, false, true]],
    ['little, because riders ask for little', { served: 20, p99Ms: 104 }, 20, [false, false, false]],
  ])('%s', (_, of, asked, bad) => {
    const { failed, p99, rides } = judge(sample(of), asked, SURGE.capacity);
    expect([failed.bad, p99.bad, rides.bad]).toEqual(bad);
  });

  it('never counts a failed request as a ride that was possible to serve', () => {
    expect(judge(sample({ served: 20, failed: 190, p99Ms: 3000 }), 212, 85).rides.bad).toBe(true);
  });

  it('are the same after a run', () => {
    const { failed, p99, rides } = recallOf(figures({ failed: 700, p99Ms: 3000, rides: 720 }));
    expect([failed.bad, p99.bad]).toEqual([true, true]);
    expect(rides.text).toBe('20');
  });
});
