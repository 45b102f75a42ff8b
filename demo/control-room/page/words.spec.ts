import { describe, expect, it } from '@jest/globals';
import type { PhaseFigures, Sample, SurgeDescription } from '../stage/surge-tick.js';
import { busyText, captionOf, recoveryOf, storyOf, sumOf } from './words.js';

const SURGE: SurgeDescription = {
  seconds: 60,
  cores: 2,
  scale: 2,
  riders: 1000,
  demand: 212,
  capacity: 85,
  limit: 75,
  burst: 4,
  patienceMs: 3000,
  dots: 1000,
};

const sample = (of: Partial<Sample>): Sample => ({
  atMs: 10_000,
  phase: 'surge',
  served: 0,
  refused: 0,
  failed: 0,
  p99Ms: null,
  rides: 0,
  sent: 0,
  waiting: 0,
  enforced: false,
  decider: 'none',
  redisAway: false,
  ...of,
});

/** The texts have spaces that do not break. */
const plain = (text: string): string => text.replaceAll('\u00A0', ' ');

describe('what happens in a world now', () => {
  it.each<[Partial<Sample>, string]>([
    [{}, 'The first requests are on their way.'],
    [{ waiting: 20 }, '20 requests wait, and the queue grows.'],
    [{ served: 42, p99Ms: 104 }, 'All requests are served, 99 % within 104 ms.'],
    [
      { served: 99, refused: 1, p99Ms: 104 },
      'Nearly all requests are served, 99 % within 104 ms. 1 in 100 requests is told “not now”.',
    ],
    [
      { served: 80, p99Ms: 2300, waiting: 98 },
      '99 % of the requests are answered within 2.3 s. 98 requests wait, and none fails yet.',
    ],
    // What is said of the wait was measured: requests that find the queue full fail at once.
    [
      { served: 60, failed: 90, p99Ms: 900, waiting: 188 },
      '6 in 10 requests fail, after up to 900 ms. 188 requests wait: 2.2 s of work.',
    ],
    [
      { served: 75, refused: 135, p99Ms: 180, enforced: true },
      '6 in 10 requests are told “not now”. The others are served, 99 % within 180 ms. None fails.',
    ],
    [
      { served: 50, refused: 100, failed: 50, p99Ms: 2900, enforced: true },
      '3 in 10 requests fail, after up to 2.9 s. 5 in 10 requests are told “not now”.',
    ],
  ])('%j', (of, words) => expect(plain(captionOf(sample(of), SURGE))).toBe(words));
});

describe('what the rush came to', () => {
  const world = (served: number, refused: number, seconds = 36): Pick<PhaseFigures, 'seconds' | 'rides'> => ({
    seconds,
    rides: { sent: 0, served, refused, failed: 0 },
  });
  const LIMITED = { left: false, right: true };

  it.each([
    [
      216,
      864,
      2470,
      '6 rides/s without limits and 24/s with limits: four times as many. 648 more rides, by saying no 2,470 times.',
    ],
    [
      216,
      432,
      99,
      '6 rides/s without limits and 12/s with limits: twice as many. 216 more rides, by saying no 99 times.',
    ],
    [
      216,
      540,
      1,
      '6 rides/s without limits and 15/s with limits: 2.5 times as many. 324 more rides, by saying no once.',
    ],
    [
      50,
      864,
      9,
      '1 ride/s without limits and 24/s with limits: 17 times as many. 814 more rides, by saying no 9 times.',
    ],
    [0, 864, 9, '0 rides/s without limits and 24/s with limits. 864 more rides, by saying no 9 times.'],
    [863, 864, 9, '24 rides/s without limits and 24/s with limits. 1 more ride, by saying no 9 times.'],
    [864, 800, 9, '24 rides/s without limits and 22/s with limits.'],
  ])('%i and %i rides, %i times no', (left, right, refused, words) => {
    expect(sumOf({ left: world(left, 0), right: world(right, refused) }, LIMITED)).toBe(words);
  });

  it('names the sides where a person has switched the limits meanwhile', () => {
    const worlds = { left: world(720, 9), right: world(864, 9) };
    const words =
      '20 rides/s on the left and 24/s on the right: 1.2 times as many. 144 more rides, by saying no 9 times.';
    expect(sumOf(worlds, { left: undefined, right: true })).toBe(words);
    expect(sumOf(worlds, { left: true, right: true })).toBe(words);
  });

  it('tells of each world how its requests ended', () => {
    const figures = (of: Partial<PhaseFigures>): PhaseFigures => ({
      ...world(0, 0),
      sent: 100,
      served: 0,
      refused: 0,
      failed: 0,
      full: 0,
      medianMs: null,
      p99Ms: null,
      refusedP99Ms: null,
      fullP99Ms: null,
      longestFailureMs: null,
      recoveredAfterS: null,
      ...of,
    });
    const stories: [Partial<PhaseFigures>, string][] = [
      [{ sent: 0 }, 'No rider asked for a ride.'],
      [{ served: 10, failed: 90, longestFailureMs: 3050 }, '9 in 10 requests failed, after up to 3.0 s.'],
      [
        { served: 10, failed: 90, full: 40, fullP99Ms: 12, longestFailureMs: 3050 },
        '9 in 10 requests failed: 40 within 12 ms, because the queue was full, the others after up to 3.0 s.',
      ],
      [
        { served: 20, refused: 80, refusedP99Ms: 4 },
        '8 in 10 requests were told “not now”, 99 % within 4.0 ms. All others were served.',
      ],
      [{ served: 100, p99Ms: 104 }, 'All requests were served, 99 % within 104 ms.'],
    ];
    expect(stories.map(([of]) => plain(storyOf(figures(of))))).toEqual(stories.map(([, words]) => words));
    expect([null, 0.4, 10.2].map((recoveredAfterS) => recoveryOf(figures({ recoveredAfterS })))).toEqual([
      'Limits on after the rush: not fast again in time',
      'Limits on after the rush: fast again at once',
      'Limits on after the rush: fast again 11 s later',
    ]);
  });
});

it('says why figures cannot be trusted', () => {
  const busy = { othersCpu: 1.7, idleCpu: 0.1, lateP99Ms: 140 };
  expect(busyText(busy, 2, 'now')).toBe(
    'This machine is too busy: other processes use 1.7 of 2 cores. Do not trust these figures.',
  );
  expect(plain(busyText({ ...busy, othersCpu: 0 }, 2, 'then'))).toBe(
    'This machine was too busy: 0.1 of 2 cores were idle, and requests were 140 ms late. Do not trust these figures.',
  );
});
