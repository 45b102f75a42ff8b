import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CaseSeries } from '../figures/series.js';
import { CHARTS, STYLE } from './html-charts.js';

const { resolve } = createRequire(import.meta.url);

/**
 * An HTML page with the charts and texts of a surge. It needs no other file and no network.
 *
 * @param sections the texts that the terminal showed, each with a heading
 */
export function htmlReport(
  series: readonly CaseSeries[],
  sections: readonly { heading: string; text: string }[],
): string {
  const [script, style] = ['uplot/dist/uPlot.iife.min.js', 'uplot/dist/uPlot.min.css'].map((file) =>
    readFileSync(resolve(file), 'utf8'),
  );
  // In a script, `<` could begin a closing tag.
  const data = JSON.stringify(series).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The concert ends: a surge, before and after</title>
<style>${style}${STYLE}</style>
<h1>The concert ends</h1>
<h2>Latency of requests that were not rejected</h2>
<p>By the second in which a request was sent, on a logarithmic scale. Solid: p99; dashed: median.</p>
<div id="latency" class="chart" role="img" aria-label="Latency over time in each case; the tables below have the figures"></div>
<h2>Answers per second</h2>
<div id="answers" class="charts"></div>
<h2>Requests that wait for matching</h2>
<div id="waiting" class="chart" role="img" aria-label="Requests in the queue of the matching service over time, in each case"></div>
${sections.map(({ heading, text }) => `<h2>${escaped(heading)}</h2>\n<pre tabindex="0">${escaped(text)}</pre>`).join('\n')}
<script>${script}</script>
<script type="application/json" id="series">${data}</script>
<script>${CHARTS}</script>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
