import { describe, expect, it } from '@jest/globals';
import type { PodsDescription, PodsResult } from '../pods/pods-tick.js';
import { verdict } from './pods-words.js';

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
    { counting: 'together', passed: 7, refused: 18, failed: 0 },
    { counting: 'together', passed: 7, refused: 18, failed: 0 },
    { counting: 'together', passed: 6, refused: 19, failed: 0 },
  ],
  tookMs: 40,
  ...of,
});

describe('the verdict on a send', () => {
  it.each<[Partial<PodsResult>, string]>([
    [{}, 'the limit'],
    [{ passed: 21, refilled: 1 }, 'the limit'],
    [{ passed: 19 }, 'below the limit'],
    [{ counting: 'alone', passed: 60 }, 'three times the limit'],
    [{ counting: 'alone', passed: 40, failed: 25 }, 'twice the limit'],
    // One pod had not noticed yet.
    [
      { counting: 'outage', passed: 32, decidedByShare: 50 },
      'the store stopped or started meanwhile: more than the limit',
    ],
    [{ passed: 0, refused: 0, failed: 75 }, 'no pod answered'],
  ])('%j: %s', (of, words) => expect(verdict(result(of), FACTS)).toBe(words));
});
