import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { CASES } from '../cases.js';
import type { CaseSeries } from '../figures/series.js';
import { readOptions } from '../options.js';
import { htmlReport } from './html-report.js';
import { ticksOf } from './report/svg.js';
import { answersChart, latencyChart, scaleOf } from './report/charts.js';
import { settingOf } from './setting.js';
import { figures, RESULTS } from './support/results.js';
import { tablesOf } from './tables.js';
import { textTable } from './text-table.js';
import { verdictOf } from './verdict.js';

const OPTIONS = readOptions([], 2)!;

function seriesOf(index: number, some: Partial<CaseSeries> = {}): CaseSeries {
  return {
    name: CASES[index]!.name,
    title: CASES[index]!.title,
    seconds: [0, 1, 2],
    median: [10, 20, null],
    p99: [100, 3000, null],
    capacity: 56.6,
    sentFor: 2,
    served: [50, 40, 10],
    rejected: [0, 0, 0],
    failed: [0, 100, 60],
    waiting: [0, 100, 20],
    utilisation: [1, 1, 1],
    ...some,
  };
}

const SERIES = [seriesOf(0), seriesOf(1), seriesOf(2, { rejected: [100, 120, 0], failed: [0, 0, 0] })];

const reportOf = (results = RESULTS): string =>
  htmlReport({
    verdict: verdictOf(OPTIONS, results, 2),
    series: SERIES,
    tables: tablesOf(results),
    setting: settingOf(OPTIONS),
  });

describe('the report', () => {
  const html = reportOf();

  it('has the verdict, then charts, then tables in details', () => {
    const order = [
      '<h1>',
      'id="verdict"',
      'class="tiles"',
      'Without limits, 6 in 10',
      '<figure>',
      '<details>',
      '<table>',
    ];
    const places = order.map((text) => html.indexOf(text));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(html.split('<table>').length).toBe(tablesOf(RESULTS).length + 1);
    expect(html.lastIndexOf('<table>')).toBeLessThan(html.lastIndexOf('</details>'));
  });

  it('has the palette of the page, in both themes and in forced colours', () => {
    expect(html).toContain(readFileSync(new URL('../../libs/palette/palette.css', import.meta.url), 'utf8').trim());
    const own = html.slice(html.indexOf('The palette stands before'));
    expect(own).not.toMatch(/--(?:served|refused|failed|capacity|outage)(?:-text)?:/);
  });

  it('loads nothing', () => {
    expect(html.match(/\b(?:src|href|srcset)=|@import|url\((?!#)|https?:/g)).toBeNull();
  });

  it('escapes its texts', () => {
    expect(
      htmlReport({ verdict: verdictOf(OPTIONS, RESULTS, 2), series: SERIES, tables: [], setting: ['<a "b" & c>'] }),
    ).toContain('<p>&lt;a &quot;b&quot; &amp; c&gt;</p>');
  });

  it('says that a limit was broken, and why not to trust a run', () => {
    const broken = reportOf({ ...RESULTS, after: figures({ overAdmitted: 3, othersCpu: 1.5 }) });
    expect(broken).toContain('<h2 id="verdict">The limits were broken</h2>');
    expect(broken).toMatch(/class="alarm">Requests admitted above .*: 3\./);
    expect(broken).toMatch(/class="warning">The machine was too busy to trust this run: other processes/);
    expect(html).not.toMatch(/class="(?:alarm|warning)"/);
  });
});

describe('the charts', () => {
  const scale = scaleOf(SERIES);

  it('share one scale', () => {
    expect(scale).toEqual({ seconds: 3, answers: 200, ms: 3000 });
  });

  it('stack served, refused and failed requests', () => {
    const chart = answersChart(SERIES[0]!, scale);
    const paths = Array.from(chart.matchAll(/data-outcome="(\w+)" d="([^"]*)"/g), ([, name, d]) => [
      name,
      d!.split('z').length - 1,
    ]);
    expect(paths).toEqual([
      ['served', 3],
      ['rejected', 0],
      ['failed', 2],
    ]);
    // In the second second failures begin where served requests end: at 40 of 200.
    const [, served, failed] = /data-outcome="served" d="[^z]*z(M[^z]*)z.*data-outcome="failed" d="(M[^z]*)z/s.exec(
      chart,
    )!;
    expect(/V([\d.]+)/.exec(served!)![1]).toBe(/M[\d.]+ ([\d.]+)/.exec(failed!)![1]);
  });

  it('have text alternatives with the figures', () => {
    expect(answersChart(SERIES[0]!, scale)).toContain(
      'role="img" aria-label="Without a limiter: 100 served, 0 refused, 160 failed. Matching can serve 56.6 requests per second."',
    );
    expect(latencyChart(SERIES[0]!, scale)).toContain('p99 was at most 3 s.');
  });

  it('draw an hour in at most 120 columns, with averages', () => {
    const hour = Array.from({ length: 3600 }, (_, i) => i);
    const of = (value: number): number[] => hour.map(() => value);
    const long = seriesOf(0, {
      seconds: hour,
      served: of(50),
      rejected: of(0),
      failed: of(100),
      p99: of(1),
      median: of(1),
    });
    const chart = answersChart(long, scaleOf([long]));
    expect(chart.match(/class="hit"/g)).toHaveLength(120);
    expect(chart).toContain('0 to 30 s, per second: 50 served, 0 refused, 100 failed');
  });
});

it.each([
  [0, [0, 1]],
  [NaN, [0, 1]],
  [6, [0, 2, 4, 6]],
  [57, [0, 20, 40, 60]],
  [0.3, [0, 0.1, 0.2, 0.3]],
  [3000, [0, 1000, 2000, 3000]],
])('has round values on an axis up to %p', (highest, ticks) => {
  expect(ticksOf(highest)).toEqual(ticks);
});

it('has tables that fit 100 columns, even with large figures', () => {
  const large = figures({
    p99Ms: 599_999,
    matchingRps: 99_999,
    rides: 999_999,
    people: {
      wanted: 100_000,
      matched: 100_000,
      matchedAfterMs: 599_999,
      gaveUp: 99_999,
      gaveUpAfterMs: 599_999,
      trying: 99_999,
    },
    failureRate: 1,
  });
  for (const table of tablesOf({ before: large, riders: large, after: large })) {
    expect(
      Math.max(
        ...textTable(table)
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(100);
  }
});
