import { describe, expect, it } from '@jest/globals';
import type { PhaseFigures, Sample, SurgeDescription, SurgeTick } from '../stage/surge-tick.js';
import { judge, recall } from './figures.js';
import { aboutOf, busyText, captionOf, codeOf, inTen, kindsOf, recoveryOf, rushOf, stateOf, storyOf } from './words.js';

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
};

const NO_KINDS = { rides: { answered: 0, served: 0 }, estimates: { answered: 0, served: 0 } };

const sample = (of: Partial<Sample>): Sample => ({
  atMs: 10_000,
  served: 0,
  refused: 0,
  failed: 0,
  p99Ms: null,
  rides: 0,
  sent: 0,
  kinds: NO_KINDS,
  waiting: 0,
  enforced: false,
  decider: 'none',
  redisAway: false,
  ...of,
});

const figures = (of: Partial<PhaseFigures>): PhaseFigures => ({
  seconds: 36,
  sent: 1000,
  served: 1000,
  refused: 0,
  failed: 0,
  full: 0,
  kinds: NO_KINDS,
  medianMs: 100,
  p99Ms: 120,
  refusedP99Ms: null,
  fullP99Ms: null,
  longestFailureMs: null,
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
  stoppedAfterS: null,
  ...of,
});

/** The texts have spaces that do not break. */
const plain = (text: string): string => text.replaceAll('\u00A0', ' ');

it.each([
  [1, 'All are'],
  [0.999, 'Nearly all are'],
  [0.97, 'Nearly all are'],
  [0.94, '9 in 10 are'],
  [0.61, '6 in 10 are'],
  [0.1, '1 in 10 is'],
  [0.05, '5 in 100 are'],
  [0.012, '1 in 100 is'],
  [0.004, 'A few are'],
])('calls a share of %d "%s"', (share, words) => expect(inTen(share, 'is', 'are')).toBe(words));

describe('the caption of a chart', () => {
  it.each<[Partial<Sample>, string]>([
    [{}, 'The first requests are on their way.'],
    [{ waiting: 20 }, '20 requests wait, and the queue grows.'],
    [{ served: 42, p99Ms: 104 }, 'Everybody is served, 99 % within 104 ms.'],
    [{ served: 42, p99Ms: 104, waiting: 1 }, 'Everybody is served, 99 % within 104 ms. 1 request waits.'],
    [
      { served: 980, failed: 9, refused: 11, p99Ms: 104 },
      'Nearly everybody is served, 99 % within 104 ms. A few get an error.',
    ],
    [
      { served: 99, refused: 1, p99Ms: 104 },
      'Nearly everybody is served, 99 % within 104 ms. 1 in 100 is turned away.',
    ],
    [
      { served: 80, p99Ms: 2300, waiting: 98 },
      '99 % are answered within 2.3 s. 98 requests wait. Nobody gets an error yet.',
    ],
    // What is said of the wait was measured: requests that find the queue full fail at once.
    [
      { served: 60, failed: 90, p99Ms: 900, waiting: 188 },
      '6 in 10 get an error after up to 900 ms. 188 requests wait.',
    ],
    [
      { served: 75, refused: 135, p99Ms: 180, enforced: true },
      '6 in 10 are turned away. The others are served, 99 % within 180 ms. Nobody gets an error.',
    ],
    [
      { served: 375, refused: 625, failed: 1, p99Ms: 180, enforced: true },
      '6 in 10 are turned away. The others are served, 99 % within 180 ms. A few get an error.',
    ],
    [{ refused: 135, enforced: true }, 'All are turned away. Nobody gets an error.'],
    [
      { served: 50, refused: 100, failed: 50, p99Ms: 2900, enforced: true },
      '3 in 10 get an error after up to 2.9 s. 5 in 10 are turned away. 0 requests wait.',
    ],
  ])('%j', (of, words) => expect(plain(captionOf(sample(of)))).toBe(words));
});

describe('what a world says of its limits', () => {
  it.each([
    [false, false, 75, 'Bypassed: every request reaches the service'],
    [true, false, 75, '75 requests/s reach the service'],
    [true, false, 85, '85 requests/s reach the service'],
    [true, false, 150, '150 requests/s reach the service, which can handle 85: too many'],
    [false, true, 75, 'Bypassed: every request reaches the service'],
    [true, true, 75, 'Redis is stopped: this process admits 75/s'],
  ])('on: %s, Redis stopped: %s, a limit of %d/s', (enforced, redisAway, limit, words) => {
    expect(plain(aboutOf({ enforced, redisAway }, { ...SURGE, limit }))).toBe(words);
  });
});

it.each([
  [false, false, 'The rush: every request reaches the service'],
  [true, true, 'The rush: 75 requests/s reach the service'],
  [false, true, 'The rush. Since then the limits are on.'],
  [true, false, 'The rush. Since then the limits are off.'],
  [undefined, true, 'The rush.'],
])('says of a rush with limits: %s, which are now on: %s, "%s"', (had, enforced, words) => {
  expect(rushOf(had, enforced, SURGE)).toBe(words);
});

describe('the story of the rush', () => {
  it.each<[Partial<PhaseFigures>, string]>([
    [{ sent: 0 }, 'Nobody asked for a ride.'],
    [{}, 'Everybody was served, 99 % within 120 ms.'],
    [{ served: 300, failed: 700, longestFailureMs: 3046 }, '7 in 10 requests got an error, after up to 3.0 s.'],
    [
      { served: 50, failed: 950, full: 670, fullP99Ms: 210, longestFailureMs: 3046 },
      'Nearly all requests got an error: 7 in 10 of those within 210 ms, as the queue was full, the others after up to 3.0 s.',
    ],
    // 99 % of them are not all of them.
    [
      { served: 500, failed: 500, full: 500, fullP99Ms: 9.2 },
      '5 in 10 requests got an error: nearly all of those within 9.2 ms, as the queue was full.',
    ],
    [
      { served: 360, refused: 640, refusedP99Ms: 4.1 },
      '6 in 10 were told “not now” (99 % within 4.1 ms). All others were served.',
    ],
    // Fewer than one in a hundred are an error nonetheless.
    [
      { served: 354, refused: 640, failed: 6, refusedP99Ms: 4.1 },
      '6 in 10 were told “not now” (99 % within 4.1 ms). 6 failed. The others were served.',
    ],
    [
      { served: 990, refused: 7, failed: 3, refusedP99Ms: 4.1 },
      'Nearly all were served, 99 % within 120 ms. 7 were told “not now”. 3 failed.',
    ],
  ])('%j', (of, words) => expect(plain(storyOf(figures(of)))).toBe(words));

  it.each<[number | null, string]>([
    [null, 'had not recovered'],
    [0.4, 'Within a second'],
    [14.2, '15 s after the switch'],
  ])('says that the left world recovered after %s s', (recoveredAfterS, words) => {
    expect(recoveryOf(figures({ recoveredAfterS }))).toContain(words);
  });
});

describe('the state', () => {
  const verdict = (busy: SurgeTick['busy']): SurgeTick['verdicts'][number] => ({
    phase: 'surge',
    worlds: { left: figures({ sent: 1000, failed: 710 }), right: figures({ failed: 0 }) },
    busy,
  });

  it('says what a rush is: what riders want, and then what they really send', () => {
    expect(stateOf(tick({ phase: 'surge' }), SURGE)).toBe(
      'A concert ends: riders want 212 requests/s of a service that can handle 85.',
    );
    expect(stateOf(tick({ phase: 'surge' }), SURGE, { left: 310.4, right: 342 })).toBe(
      'A concert ends: 310 requests/s hit the left service and 342 the right one, retries included. Each can handle 85.',
    );
  });

  it.each(['surge', 'recovery'] as const)('says that Redis is stopped in the phase %s', (phase) => {
    const world = { sample: sample({ enforced: true, redisAway: true }) };
    const worlds = { left: world, right: world } as unknown as SurgeTick['worlds'];
    expect(stateOf(tick({ phase, worlds }), SURGE, { left: 310, right: 342 })).toMatch(/ Redis is stopped: /);
  });

  it('says when a viewer stopped the run', () => {
    expect(stateOf(tick({ verdicts: [verdict(null)], stoppedAfterS: 12.4 }), SURGE)).toBe(
      'Stopped after 12 s. In the rush 71 in 100 requests failed on the left, and none failed on the right.',
    );
  });

  it('says how the last rush ended', () => {
    expect(stateOf(tick({ verdicts: [verdict(null)] }), SURGE)).toBe(
      'In the rush 71 in 100 requests failed on the left, and none failed on the right.',
    );
  });

  it('does not compare figures of a machine that was too busy', () => {
    const state = stateOf(tick({ verdicts: [verdict({ othersCpu: 1.4, idleCpu: 0, lateP99Ms: 300 })] }), SURGE);
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
      'Limits are on in both worlds now. But 256 requests still wait on the left, most of whose riders leave before a worker is free.',
    );
    expect(recovery(255)).toBe('Limits are on in both worlds now. The crowd is the same, and the left one recovers.');
  });

  it('does not say that a world recovers whose limits are still off', () => {
    const world = { sample: sample({ enforced: false }) };
    const worlds = { left: world, right: world } as unknown as SurgeTick['worlds'];
    expect(stateOf(tick({ phase: 'recovery', worlds }), SURGE)).not.toContain('recovers');
  });
});

it('says what part of the rides and of the estimates was served', () => {
  const kinds = { rides: { answered: 200, served: 62 }, estimates: { answered: 80, served: 0 } };
  expect(plain(kindsOf(kinds))).toBe('Rides: 31 % served. Estimates: 0 %.');
  const none = { ...kinds, estimates: { answered: 0, served: 0 } };
  expect(plain(kindsOf(none))).toBe('Rides: 31 % served. Estimates: –.');
  expect(plain(kindsOf(undefined))).toBe(' ');
});

it('names what keeps the machine busy', () => {
  expect(busyText({ othersCpu: 1.42, idleCpu: 0, lateP99Ms: 300 }, 2, 'then')).toContain(
    'other processes used 1.4 of 2 cores',
  );
  expect(plain(busyText({ othersCpu: 0.1, idleCpu: 0.04, lateP99Ms: 300 }, 2, 'now'))).toContain(
    '0.0 of 2 cores are idle, and requests 300 ms late',
  );
});

it('shows the numbers of this machine in the code', () => {
  expect(codeOf(SURGE)).toContain('capacity: 4, refill: 75,');
  expect(codeOf({ ...SURGE, limit: 100 / 3 })).toContain('refill: 33.3,');
});

describe('the thresholds of tiles', () => {
  it.each<[string, Partial<Sample>, string[]]>([
    ['no failure and fast answers', { served: 75, refused: 135, p99Ms: 180 }, []],
    ['1 % failures', { served: 99, failed: 1, p99Ms: 180 }, ['failed']],
    ['less than 1 % failures', { served: 999, failed: 9, p99Ms: 180 }, []],
    ['a p99 of a second', { served: 75, p99Ms: 1000 }, ['within']],
    ['less than half of the capacity', { served: 42, refused: 160, p99Ms: 180 }, ['served']],
    ['half a second of work in the queue', { served: 75, p99Ms: 180, waiting: 43 }, ['waiting']],
    ['a shorter queue', { served: 75, p99Ms: 180, waiting: 42 }, []],
    ['nothing in the first seconds, whose rates are too low', { atMs: 1900, served: 3, p99Ms: 90 }, []],
  ])('%s', (_, of, bad) => {
    const judged = judge(sample(of), SURGE.capacity);
    expect(Object.entries(judged).flatMap(([name, one]) => (one.bad ? [name] : []))).toEqual(bad);
  });

  it('are the same after a run', () => {
    const { waiting, failed, within, served } = recall(
      figures({ served: 300, failed: 700, p99Ms: 3000 }),
      188,
      SURGE.capacity,
    );
    expect([waiting.bad, failed.bad, within.bad, served.bad]).toEqual([true, true, true, true]);
    expect([waiting.text, served.text, plain(served.words)]).toEqual(['188', '8/s', '10 % of capacity']);
  });
});
