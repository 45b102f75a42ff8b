import { describe, expect, it } from '@jest/globals';
import { refusalIn, resetAfter } from './trial.js';

describe('the answer to a trial', () => {
  const NONE = { policy: null, retryAfterMs: null };

  it.each([
    [429, '{"policy":"rider","retry_after_ms":75.295}', { policy: 'rider', retryAfterMs: 75.295 }],
    [429, '{"policy":"rider","retry_after_ms":null}', { policy: 'rider', retryAfterMs: null }],
    [429, 'Too many requests', NONE],
    [429, 'null', NONE],
    [429, '{"error":"too_many_trials"}', NONE],
    [200, '{"policy":"rider","retry_after_ms":1}', NONE],
  ])('names the policy that refused: %i %s', (status, text, refusal) => {
    expect(refusalIn(status, text)).toEqual(refusal);
  });

  it.each([
    ['1700000012', 1_700_000_000_250, 11_750],
    ['1700000012', 1_700_000_013_000, 0],
    ['soon', 0, null],
    [['1', '2'], 0, null],
    [undefined, 0, null],
  ])('has the time until the reset: %j at %i', (header, now, after) => {
    expect(resetAfter(header, now)).toBe(after);
  });
});
