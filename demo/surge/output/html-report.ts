import { readFileSync } from 'node:fs';
import type { CaseSeries } from '../figures/series.js';
import { answersChart, latencyChart, scaleOf } from './report/charts.js';
import { escaped } from './report/svg.js';
import type { Table } from './text-table.js';
import type { BigNumber, Verdict } from './verdict.js';

export interface Report {
  readonly verdict: Verdict;
  readonly series: readonly CaseSeries[];
  readonly tables: readonly Table[];
  /** Paragraphs. */
  readonly setting: readonly string[];
}

/**
 * An HTML page with the verdict of a surge, its charts and its tables, in this order. It needs no other file and no network.
 *
 * The charts are SVG without a script: they print, and they follow the theme.
 */
export function htmlReport({ verdict, series, tables, setting }: Report): string {
  const { title, people, numbers, sentence, checks, warnings, busy } = verdict;
  const isTrusted = busy.length === 0;
  const scale = scaleOf(series);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(isTrusted ? `The concert ends: ${numbers[0].before} failed without limits, ${numbers[0].after} with them` : title)}</title>
<style>${styles()}</style>
</head>
<body>
<svg width="0" height="0" style="position: absolute" aria-hidden="true"><defs>
<pattern id="stripes" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="7" height="7" fill="var(--failed)"/><path d="M0 0V7" stroke="var(--back)" stroke-width="2"/>
</pattern>
</defs></svg>
<main>
<h1>The concert ends: a surge without limits, and with them</h1>
<h2 id="verdict">${escaped(title)}</h2>
${checks
  .filter(({ holds }) => !holds)
  .map(({ text }) => `<p class="alarm">${escaped(text)}</p>`)
  .join('\n')}
${warnings.map((text) => `<p class="warning">${escaped(text)}</p>`).join('\n')}
${isTrusted ? verdictOf(people, numbers, sentence) : ''}

<h2>What riders got in each second</h2>
<p class="note">The same riders in each chart, on the same scale. A request that failed after the limiter let it pass counts as failed.</p>
<ul class="legend">
<li>${swatch('<rect class="served" width="28" height="14"/>')}served</li>
<li>${swatch('<rect class="refused" width="28" height="14"/>')}refused (429) in milliseconds</li>
<li>${swatch('<rect class="failed" width="28" height="14"/>')}failed</li>
<li>${swatch('<path class="capacity" d="M0 7H28"/>')}what matching can serve</li>
</ul>
<div class="charts">
${series.map((one) => figureOf(one.title, sharesOf(one), answersChart(one, scale))).join('\n')}
</div>

<h2>How long riders waited</h2>
<p class="note">Requests that were not refused, by the second in which they were sent.</p>
<ul class="legend">
<li>${swatch('<path class="p99" d="M0 7H28"/>')}p99: 99 of 100 took no longer</li>
<li>${swatch('<path class="median" d="M0 7H28"/>')}median</li>
</ul>
<div class="charts">
${series.map((one) => figureOf(one.title, '', latencyChart(one, scale))).join('\n')}
</div>

<h2>What was checked</h2>
<ul class="checks">
${checks.map(({ text, holds }) => `<li${holds ? '' : ' class="bad"'}>${escaped(text)}</li>`).join('\n')}
</ul>

<h2>All figures</h2>
${tables.map(tableOf).join('\n')}
<details>
<summary><h3>The setting</h3></summary>
<div class="setting">${setting.map((text) => `<p>${escaped(text)}</p>`).join('\n')}</div>
</details>
</main>
<script>addEventListener('beforeprint', () => { for (const one of document.querySelectorAll('details')) one.open = true; });</script>
</body>
</html>
`;
}

/** The palette of the control room, then the report's own styles. */
function styles(): string {
  return ['../../palette/palette.css', './report/style.css']
    .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
    .join('\n');
}

function verdictOf(people: Verdict['people'], numbers: Verdict['numbers'], sentence: string): string {
  return `${people.map((text) => `<p class="people">${escaped(text)}</p>`).join('\n')}
<dl class="tiles">
${numbers.map(tile).join('\n')}
</dl>
<p class="sentence">${escaped(sentence)}</p>`;
}

function tile({ label, before, after, note, isGood }: BigNumber): string {
  const tone = (good: boolean): string => (good ? '' : ' bad');
  return `<div class="tile">
<dt>${escaped(label)}</dt>
<dd class="before">without limits <span class="${tone(isGood.before).trim()}">${escaped(before)}</span></dd>
<dd class="after${tone(isGood.after)}">${escaped(after)}</dd>
<dd class="note">with limits; ${escaped(note)}</dd>
</div>`;
}

function swatch(content: string): string {
  return `<svg viewBox="0 0 28 14" aria-hidden="true">${content}</svg>`;
}

function figureOf(title: string, detail: string, chart: string): string {
  return `<figure>\n<figcaption><h3>${escaped(title)}</h3>${detail && `<small>${escaped(detail)}</small>`}</figcaption>\n${chart}\n</figure>`;
}

function sharesOf({ served, rejected, failed }: CaseSeries): string {
  const [s, r, f] = [served, rejected, failed].map((counts) => counts.reduce((sum, one) => sum + one, 0)) as [
    number,
    number,
    number,
  ];
  const all = Math.max(1, s + r + f);
  const share = (count: number): string => `${((100 * count) / all).toFixed(1)} %`;
  return `served ${share(s)}, refused ${share(r)}, failed ${share(f)}`;
}

function tableOf({ heading, head, rows }: Table, index: number): string {
  const id = `table-${index}`;
  const cell = (text: string): string => `<td>${escaped(text)}</td>`;
  const rowOf = (row: readonly string[]): string => {
    const [name = '', ...cells] = head.map((_, column) => row[column] ?? '');
    const isPart = name.startsWith('  ');
    return `<tr><th scope="row"${isPart ? ' class="part"' : ''}>${escaped(name.trim())}</th>${cells.map(cell).join('')}</tr>`;
  };
  const heads = head.map((text) => (text === '' ? '<td></td>' : `<th scope="col">${escaped(text)}</th>`));
  return `<details>
<summary><h3 id="${id}">${escaped(heading)}</h3></summary>
<div class="scroll" role="region" aria-labelledby="${id}" tabindex="0"><table>
<thead><tr>${heads.join('')}</tr></thead>
<tbody>
${rows.map(rowOf).join('\n')}
</tbody>
</table></div>
</details>`;
}
