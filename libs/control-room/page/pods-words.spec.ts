import { describe, expect, it } from '@jest/globals';
import type { PodsDescription, PodsResult, PodsTick } from '../pods/pods-tick.js';
import { details, sentence, titleOf, verdict } from './pods-words.js';

const FACTS: PodsDescription = { pods: 3, each: 25, limit: 20, refillPerMinute: 20, share: 6 };

const result = (of: Partial<PodsResult>): PodsResult => ({
  id: 1,
  counting: 'together',
  sent: 75,
  passed: 20,
  refused: 55,
  failed: 0,
  refilled: 0,
  decidedByShare: 0,
  pods: [
    { passed: 7, refused: 18, failed: 0 },
    { passed: 7, refused: 18, failed: 0 },
    { passed: 6, refused: 19, failed: 0 },
  ],
  tookMs: 40,
  ...of,
});

describe('the verdict on a send', () => {
  it.each<[Partial<PodsResult>, string]>([
    [{}, 'the limit'],
    [{ passed: 21, refilled: 1 }, 'the limit'],
    [{ passed: 19 }, 'below the limit'],
    [{ passed: 15, refilled: 1 }, 'below the limit'],
    [{ counting: 'alone', passed: 60 }, 'three times the limit'],
    [{ counting: 'alone', passed: 62, refilled: 2 }, 'three times the limit'],
    [{ counting: 'alone', passed: 40, failed: 25 }, 'twice the limit'],
    [{ counting: 'alone', passed: 50 }, '2.5 times the limit'],
    [{ counting: 'outage', passed: 18, decidedByShare: 75 }, 'below the limit'],
    // One pod had not noticed yet.
    [
      { counting: 'outage', passed: 32, decidedByShare: 50 },
      'the store stopped or started meanwhile: more than the limit',
    ],
    [{ counting: 'outage', passed: 18, decidedByShare: 50 }, 'the store stopped or started meanwhile'],
    // One pod gave no answer at all.
    [{ counting: 'outage', passed: 12, failed: 25, decidedByShare: 50 }, 'below the limit'],
    [{ passed: 0, refused: 0, failed: 75 }, 'no pod answered'],
  ])('%j: %s', (of, words) => expect(verdict(result(of), FACTS)).toBe(words));
});

it('names what each pod passed, and what refilled or failed', () => {
  expect(details(result({}))).toBe('7 + 7 + 6');
  expect(details(result({ refilled: 1 }))).toBe('7 + 7 + 6, 1 refilled');
  expect(details(result({ refused: 0, failed: 55 }))).toBe('7 + 7 + 6, 55 without an answer');
});

it('calls a store in memory no Redis', () => {
  expect(titleOf('together', true)).toBe('One store');
  expect(titleOf('outage', true)).toBe('The store stopped');
  expect(titleOf('outage', false)).toBe('Redis stopped');
});

describe('what decides', () => {
  const pod = { state: 'up', problem: null, reachesStore: true, bucket: null } as const;
  const tick = (of: Partial<PodsTick>, store: Partial<PodsTick['store']> = {}): PodsTick => ({
    phase: 'ready',
    problem: null,
    together: true,
    store: { kind: 'redis', problem: null, isUp: true, bucket: null, ...store },
    pods: [pod, pod, pod],
    results: { alone: null, together: null, outage: null },
    ...of,
  });

  it.each<[string, PodsTick | null, boolean, string]>([
    ['no figures yet', null, false, 'Waiting for the first figures.'],
    ['no pods', tick({ phase: 'unavailable', problem: 'a pod does not start' }), true, 'a pod does not start'],
    ['each alone', tick({}), false, 'Each counts in its own memory, so three pods admit three limits.'],
    ['each alone in an outage', tick({}, { isUp: false }), false, 'pods without a shared store do not notice'],
    ['one Redis', tick({}), true, 'All count in one Redis'],
    ['an outage', tick({}, { isUp: false }), true, '6 of 20 (localShare: 3): 18 in all, and no error'],
    [
      'the end of an outage',
      tick({ pods: [pod, { ...pod, reachesStore: false }, pod] }),
      true,
      'Redis is back, and empty',
    ],
    [
      'no redis-server',
      tick({}, { kind: 'memory', problem: 'no redis-server' }),
      true,
      'three applications in one process: no redis-server',
    ],
  ])('%s', (_, of, together, words) => expect(sentence(of, together, FACTS)).toContain(words));
});
