import { describe, expect, it } from '@jest/globals';
import type { Sample, SurgeDescription } from '../stage/surge-tick.js';
import { judge } from './figures.js';
import { captionOf } from './words.js';

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

/** The texts have spaces that do not break. */
const plain = (text: string): string => text.replaceAll('\u00A0', ' ');

describe('the caption of a chart', () => {
  it.each<[Partial<Sample>, string]>([
    [{}, 'The first requests are on their way.'],
    [{ waiting: 20 }, '20 requests wait, and the queue grows.'],
    [{ served: 42, p99Ms: 104 }, 'Everybody is served, 99 % within 104 ms.'],
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
      { served: 50, refused: 100, failed: 50, p99Ms: 2900, enforced: true },
      '3 in 10 get an error after up to 2.9 s. 5 in 10 are turned away. 0 requests wait.',
    ],
  ])('%j', (of, words) => expect(plain(captionOf(sample(of)))).toBe(words));
});

describe('the thresholds of tiles', () => {
  it.each<[string, Partial<Sample>, string[]]>([
    ['no failure and fast answers', { served: 75, refused: 135, p99Ms: 180 }, []],
    ['1 % failures', { served: 99, failed: 1, p99Ms: 180 }, ['failed']],
    ['a p99 of a second', { served: 75, p99Ms: 1000 }, ['within']],
    ['less than half of the capacity', { served: 42, refused: 160, p99Ms: 180 }, ['served']],
    ['half a second of work in the queue', { served: 75, p99Ms: 180, waiting: 43 }, ['waiting']],
    ['nothing in the first seconds, whose rates are too low', { atMs: 1900, served: 3, p99Ms: 90 }, []],
  ])('%s', (_, of, bad) => {
    const judged = judge(sample(of), SURGE.capacity);
    expect(Object.entries(judged).flatMap(([name, one]) => (one.bad ? [name] : []))).toEqual(bad);
  });
});
