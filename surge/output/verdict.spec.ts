import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { CaseFigures } from '../figures/figures.js';
import { readOptions } from '../options.js';
import { headline } from './headline.js';
import { figures, RESULTS } from './support/results.js';
import { coloured, paintFor, plain } from './colours.js';
import { burstText, type Results, verdictOf } from './verdict.js';

const OPTIONS = readOptions([], 2)!;
const MEMORY = readOptions(['--store', 'memory'], 2)!;
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

  it('says first what became of the people', () => {
    const { people } = verdictOf(OPTIONS, RESULTS, CORES);
    expect(people).toEqual([
      'Without limits, 1,100 people wanted a ride: 216 got one after 1.9 s on average, 600 gave up after 7.4 s on average, ' +
        'and 284 were still trying.',
      'With limits, 1,200 people wanted a ride: 560 got one after 320 ms on average, 500 gave up after 2.6 s on average, ' +
        'and 140 were still trying.',
    ]);
    const none = { ...RESULTS.after.people, matched: 0, matchedAfterMs: NaN, gaveUp: 0, gaveUpAfterMs: NaN };
    expect(verdictOf(OPTIONS, withAfter({ people: none }), CORES).people[1]).toBe(
      'With limits, 1,200 people wanted a ride: 0 got one, 0 gave up, and 140 were still trying.',
    );
  });

  it('gives a busy machine none', () => {
    const verdict = verdictOf(OPTIONS, withAfter({ othersCpu: 0.51 }), CORES);
    const text = headline(verdict, plain);
    expect(text).toContain('! The machine was too busy to trust this run');
    for (const claim of ['FAILED', 'people wanted', 'With limits, ']) {
      expect(text).not.toContain(claim);
      expect(headline(verdictOf(OPTIONS, RESULTS, CORES), plain)).toContain(claim);
    }
  });

  it('praises nothing that is bad', () => {
    const { title, numbers, sentence } = verdictOf(OPTIONS, withAfter({ failureRate: 0.04, p99Ms: 4000 }), CORES);
    expect(title).toContain('riders did not get their answers in time');
    expect(numbers[0].isGood.after).toBe(false);
    expect(sentence).toContain('With limits, 4.0 % of the requests failed');
  });

  it('says so when the surge was no problem without limits, either', () => {
    const calm = figures({ failureRate: 0, p99Ms: 120, meanFailureMs: NaN });
    const { sentence, numbers } = verdictOf(OPTIONS, { ...RESULTS, before: calm }, CORES);
    expect(sentence).toContain('without limits, too');
    expect(numbers[2].before).toBe('-');
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

  it('trusts a machine at the thresholds', () => {
    const some = { generator: { cpu: 1, eventLoop: 0.7, lateP99Ms: 25 }, othersCpu: 0.5 };
    expect(verdictOf(OPTIONS, withAfter(some), CORES).warnings).toEqual([]);
    expect(verdictOf(OPTIONS, withAfter({ othersCpu: 0.9 }), 4).warnings).toEqual([]);
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

  it('is one when two riders got the same driver', () => {
    expect(verdictOf(MEMORY, withAfter({ doubleMatched: 1 }), CORES).hold).toBe(false);
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

  it('of processes that count for themselves', () => {
    const text = burstText(MEMORY, { ...burst, admitted: 80, over: 60 }, true);
    expect(text).toBe(`${start}80 admitted, since each process gives the rider a bucket of 20.`);
  });
});

describe('the headline', () => {
  it('fits 100 columns, with and without colours', () => {
    const worst = figures({
      failureRate: 1,
      rejectedRate: 0.999,
      p99Ms: 599_000,
      meanFailureMs: 99_999,
      mean429Ms: 998,
    });
    const verdict = verdictOf(OPTIONS, { before: worst, riders: worst, after: worst }, CORES);
    const text = headline(verdict, plain);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBe(100);
    expect(stripVTControlCharacters(headline(verdict, coloured))).toBe(text);
    expect(headline(verdict, coloured)).not.toBe(text);
  });
});

describe('colours', () => {
  const terminal = { isTTY: true };

  it.each([
    [terminal, {}, coloured],
    [terminal, { NO_COLOR: '' }, coloured],
    [terminal, { NO_COLOR: '1' }, plain],
    [terminal, { TERM: 'dumb' }, plain],
    [terminal, { FORCE_COLOR: '0' }, plain],
    [{}, {}, plain],
    [{}, { FORCE_COLOR: '1' }, coloured],
    [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, coloured],
  ])('on %j with %j', (stream, environment, paint) => {
    expect(paintFor(stream, environment)).toBe(paint);
  });
});
