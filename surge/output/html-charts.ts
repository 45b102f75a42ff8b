export const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --dim: #6b7280; --line: #d9dde3; --back: #fff;
  --before: #c2410c; --riders: #a16207; --after: #15803d; --allowed: #15803d; --rejected: #2563eb; --failed: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --dim: #9aa3ad; --line: #363c44; --back: #15181c;
  --before: #fb923c; --riders: #facc15; --after: #4ade80; --allowed: #4ade80; --rejected: #60a5fa; --failed: #f87171; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: .95rem; font-weight: 600; margin: .5rem 0; }
pre { overflow-x: auto; font-size: .8rem; line-height: 1.4; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
.chart { min-width: 0; overflow: hidden; }
`;

/** A script for the page. It draws the data of #series, and draws again when the width or the theme changes. */
export const CHARTS = `
const series = JSON.parse(document.getElementById('series').textContent);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const longest = series.map((one) => one.seconds).reduce((a, b) => (b.length > a.length ? b : a));
const padded = (values) => longest.map((_, i) => values[i] ?? null);
const axis = (more) => ({ stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line') }, ...more });
const line = (label, name, more) => ({ label, stroke: colour(name), width: 2, points: { show: false }, ...more });
const number = (unit) => (_, value) => (value === null || value === undefined ? '-' : value.toLocaleString('en', { maximumFractionDigits: 1 }) + unit);

let charts = [];
function draw(target, height, data, lines, scale, unit) {
  const options = {
    width: target.clientWidth, height,
    scales: { x: { time: false }, y: scale },
    axes: [axis({ values: (_, ticks) => ticks.map((tick) => tick + ' s') }), axis({ size: 90, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : tick.toLocaleString('en') + unit)) })],
    series: [{ label: 'second' }, ...lines.map((one) => ({ value: number(unit), ...one }))],
  };
  charts.push(new uPlot(options, data, target));
}

function drawAll() {
  for (const chart of charts) chart.destroy();
  charts = [];
  draw(document.getElementById('latency'), 320,
    [longest, ...series.flatMap((one) => [padded(one.p99), padded(one.median)])],
    series.flatMap((one) => [line(one.title + ', p99', one.name), line('median', one.name, { dash: [4, 4], width: 1 })]),
    { distr: 3 }, ' ms');
  const answers = document.getElementById('answers');
  answers.replaceChildren();
  const most = Math.max(1, ...series.flatMap((one) => [...one.allowed, ...one.rejected, ...one.failed]));
  // Create all elements first, since their widths depend on each other.
  const places = series.map((one) => {
    const figure = answers.appendChild(document.createElement('div'));
    figure.className = 'chart';
    figure.appendChild(document.createElement('h3')).textContent = one.title;
    const chart = figure.appendChild(document.createElement('div'));
    chart.setAttribute('role', 'img');
    chart.setAttribute('aria-label', 'Allowed, rejected and failed requests per second: ' + one.title);
    return chart;
  });
  series.forEach((one, i) => {
    draw(places[i], 220, [longest, padded(one.allowed), padded(one.rejected), padded(one.failed)],
      [line('allowed', 'allowed'), line('rejected (429)', 'rejected'), line('failed', 'failed')], { range: [0, most] }, '');
  });
  draw(document.getElementById('waiting'), 220, [longest, ...series.map((one) => padded(one.waiting))],
    series.map((one) => line(one.title, one.name)), { range: (_, min, max) => [0, Math.max(10, max)] }, '');
}

drawAll();
let width = innerWidth;
addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
`;
