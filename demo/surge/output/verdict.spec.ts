import { describe, expect, it } from '@jest/globals';
import type { CaseFigures } from '../figures/figures.js';
import { readOptions } from '../options.js';
import { headline } from './headline.js';
import { figures, RESULTS } from './support/results.js';
import { plain } from './colours.js';
import { burstText, type Results, verdictOf } from './verdict.js';

const OPTIONS = readOptions([], 2);
const MEMORY = readOptions(['--store', 'memory'], 2);
const CORES = 2;

const withAfter = (some: Partial<CaseFigures>): Results => ({ ...RESULTS, after: figures(some) });

describe('the verdict', () => {
  it('has three numbers, before and after, and a sentence', () => {
    const { title, numbers, sentence, hold, warnings, busy } = verdictOf(OPTIONS, RESULTS, CORES);
    expect(
      numbers.map(({ label, before, after, isGood }) => [label, before, after, isGood.before, isGood.after]),
    ).toEqual([
      ['Failed', '60.1 %', '0.0 %', false, true],
      ['99 % answered within', '3.1 s', '125 ms', false, true],
      ['Time to be refused', '3.01 s', '2.6 ms', false, true],
    ]);
    expect(title).toBe('The limits kept the service standing');
    expect(sentence).toBe(
      'Without limits, 6 in 10 requests failed, after 3.01 s on average. With limits, no request failed: 8 in 10 requests were told ' +
        'in 2.6 ms to come back later, and 99 of 100 others had their answer in 125 ms.',
    );
    expect({ hold, warnings, busy }).toEqual({ hold: true, warnings: [], busy: [] });
  });

  it.each([
    ['requests were sent 26 ms late', { generator: { cpu: 0.1, eventLoop: 0.1, lateP99Ms: 26 } }],
    ['the load generator was busy 71.0 % of the time', { generator: { cpu: 0.1, eventLoop: 0.71, lateP99Ms: 2 } }],
    ['other processes used 0.51 of 2 cores', { othersCpu: 0.51 }],
  ])('warns when %s', (reason, some) => {
    const { warnings, busy, title, hold } = verdictOf(OPTIONS, withAfter(some), CORES);
    expect(warnings).toEqual([expect.stringMatching(/^The machine was too busy to trust this run: /)]);
    expect(warnings[0]).toContain(reason);
    expect(warnings[0]!.split(';')).toHaveLength(1);
    expect(busy.map((one) => one.case)).toEqual(['after']);
    expect(title).toBe('This machine was too busy to measure the limits');
    expect(hold).toBe(true);
  });
});

describe('a breach', () => {
  it('is called one when requests were admitted beyond the limit', () => {
    const verdict = verdictOf(OPTIONS, withAfter({ overAdmitted: 3 }), CORES);
    expect(verdict.hold).toBe(false);
    expect(verdict.title).toBe('The limits were broken');
    expect(verdict.checks.filter(({ holds }) => !holds).map(({ text }) => text)).toEqual([
      'Requests admitted above capacity + refill x time, over all processes: 3.',
    ]);
    expect(headline(verdict, plain).split('\n').slice(0, 2)).toEqual([
      ' THE LIMITS WERE BROKEN ',
      '! Requests admitted above capacity + refill x time, over all processes: 3.',
    ]);
  });

  it('is none when Redis was late, or when each process counts for itself', () => {
    const late = verdictOf(OPTIONS, withAfter({ overAdmitted: 3, decidedLocally: 3 }), CORES);
    expect(late.hold).toBe(true);
    expect(late.warnings).toEqual([expect.stringContaining('Redis was too late for 3 decisions')]);
    const memory = verdictOf(MEMORY, withAfter({ overAdmitted: 60 }), CORES);
    expect(memory.hold).toBe(true);
    expect(memory.warnings).toEqual([expect.stringContaining('up to 4 times every limit')]);
  });
});

describe('the burst of one rider', () => {
  const burst = { sent: 120, admitted: 20, tookMs: 130, refilled: 0, over: 0 };
  const start = 'One rider sent 120 requests at once to 4 processes: ';

  it.each([
    [burst, false, '20 admitted (the limit is 20, then 10/s).'],
    [
      { ...burst, admitted: 21, refilled: 1 },
      false,
      '20 + 1 refilled in 130 ms = 21 admitted (the limit is 20, then 10/s).',
    ],
    [
      { ...burst, admitted: 25, refilled: 1, over: 4 },
      false,
      '25 admitted, 4 too many. The limit allows 20 + 1 refilled in 130 ms = 21.',
    ],
    [
      { ...burst, admitted: 25, refilled: 1, over: 4 },
      true,
      '20 + 1 refilled in 130 ms + 4 while Redis was late = 25 admitted.',
    ],
  ])('adds up: %j', (figuresOfBurst, isExplained, text) => {
    expect(burstText(OPTIONS, figuresOfBurst, isExplained)).toBe(start + text);
  });
});
