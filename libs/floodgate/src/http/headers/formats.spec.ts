import { describe, expect, it } from '@jest/globals';
import { Judging } from '../../../../../test/support/judging.js';
import type { Policy } from '../../policy/policy.js';
import { ClockOffset } from './clock-offset.js';
import { decisionHeaders, type HeaderFormat } from '../headers.js';

const SHORT: Policy = { name: 'short', algorithm: 'fixed-window', limit: 3, window: '1s' };
const LONG: Policy = { name: 'long', algorithm: 'sliding-window-log', limit: 10, window: '1m' };
const UNNAMED: Policy = { algorithm: 'token-bucket', capacity: 5, refill: '1/m' };

const NOW = 1_800_000_000_000;

function headers(format: HeaderFormat | false, judging: Judging, requests: number): Record<string, string> {
  let decision = judging.take();
  for (let i = 1; i < requests; i++) decision = judging.take();
  return Object.fromEntries(decisionHeaders(decision, NOW, { headers: format, offset: new ClockOffset() }));
}

describe('a decision in the format', () => {
  it.each<[HeaderFormat | false, number, Record<string, string>]>([
    ['x-ratelimit', 1, { 'X-RateLimit-Limit': '3', 'X-RateLimit-Remaining': '2', 'X-RateLimit-Reset': '1800000001' }],
    [
      'throttler',
      1,
      {
        'X-RateLimit-Limit-short': '3',
        'X-RateLimit-Remaining-short': '2',
        'X-RateLimit-Reset-short': '1',
        'X-RateLimit-Limit-long': '10',
        'X-RateLimit-Remaining-long': '9',
        'X-RateLimit-Reset-long': '60',
        'X-RateLimit-Limit': '5',
        'X-RateLimit-Remaining': '4',
        'X-RateLimit-Reset': '60',
      },
    ],
    [
      'draft-11',
      1,
      {
        'RateLimit-Policy': '"short";q=3;w=1, "long";q=10;w=60, "default";q=5;w=300',
        RateLimit: '"short";r=2;t=1, "long";r=9;t=60, "default";r=4;t=60',
      },
    ],
    [false, 1, {}],
    ['throttler', 4, { 'Retry-After-short': '1' }],
  ])('%s, request %d', (format, requests, wanted) => {
    expect(headers(format, new Judging([SHORT, LONG, UNNAMED]), requests)).toEqual(wanted);
  });
});

describe('the format x-ratelimit', () => {
  it('says that nothing is left while charges are open, and says nothing before', () => {
    const judging = new Judging([SHORT]);
    const estimated = (): string | undefined =>
      Object.fromEntries(
        decisionHeaders(judging.reserve(), NOW, { headers: 'x-ratelimit', offset: new ClockOffset() }),
      )['X-RateLimit-Estimated'];
    expect([1, 2, 3, 4].map(estimated)).toEqual([undefined, undefined, 'true', 'true']);
  });
});

describe('the format of throttler', () => {
  it('leaves Retry-After without a suffix to the caller, and says nothing of a request that never passes', () => {
    expect(headers('throttler', new Judging([{ ...UNNAMED, capacity: 1 }]), 2)).toEqual({});
    const never = new Judging([SHORT]).take(4);
    expect(decisionHeaders(never, NOW, { headers: 'throttler', offset: new ClockOffset() })).toEqual([]);
  });

  it('replaces characters that no name of a header has', () => {
    const names = Object.keys(headers('throttler', new Judging([{ ...SHORT, name: 'per user/"day"()' }]), 1));
    expect(names).toEqual([
      'X-RateLimit-Limit-per-user--day---',
      'X-RateLimit-Remaining-per-user--day---',
      'X-RateLimit-Reset-per-user--day---',
    ]);
  });
});
