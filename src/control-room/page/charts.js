import uPlot from './uplot.js';
import { byId, make, say, shown, shownTime } from './dom.js';

/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {{ at: number, passed: number, rejected: number, utilisation: number | null, p99: number | null }} Sample */

const SHOWN_SECONDS = 60;
/** Rates are averages of this many seconds. */
const RATE_SECONDS = 1;
const HEIGHT = 168;
const TABLE_ROWS = 10;

/** @typedef {{ values: keyof Sample, color: string, fill?: boolean, dash?: number[] }} Line */

/** The three charts, their numbers and their table. */
export class Charts {
  /** @type {Sample[]} */
  samples = [];
  /** @type {{ at: number, passed: number, rejected: number }[]} */
  counts = [];
  /** @type {Chart[]} */
  charts;

  constructor() {
    this.charts = [
      new Chart('chart-requests', shown, 20, [
        { values: 'passed', color: '--passed', fill: true },
        { values: 'rejected', color: '--rejected', fill: true, dash: [6, 3] },
      ]),
      new Chart('chart-utilisation', (value) => `${shown(value * 100)} %`, 1, [
        { values: 'utilisation', color: '--busy', fill: true },
      ]),
      new Chart('chart-wait', shownTime, 20, [{ values: 'p99', color: '--wait', fill: true }]),
    ];
    const redraw = () => this.charts.forEach((chart) => chart.rebuild(this.samples));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  }

  /** Forgets the counts, since the connection is new and the process may be, too. */
  restart() {
    this.counts = [];
  }

  /** @param {Tick} tick */
  add(tick) {
    const at = tick.at / 1000;
    const lanes = Object.values(tick.lanes);
    const count = {
      at,
      passed: lanes.reduce((sum, { passed }) => sum + passed, 0),
      rejected: lanes.reduce((sum, { rejected }) => sum + rejected, 0),
    };
    if (this.counts.length > 0 && at <= (this.counts.at(-1)?.at ?? 0)) this.counts = []; // the clock stepped back
    this.counts.push(count);
    while ((this.counts[1]?.at ?? Infinity) <= at - RATE_SECONDS) this.counts.shift();
    const from = this.counts[0] ?? count;
    const seconds = Math.max(RATE_SECONDS, at - from.at);
    const { matching } = tick;
    this.samples.push({
      at,
      passed: (count.passed - from.passed) / seconds,
      rejected: (count.rejected - from.rejected) / seconds,
      utilisation: matching?.utilisation ?? null,
      p99: matching?.p99WaitMs ?? null,
    });
    this.samples = this.samples.filter((sample) => sample.at > at - SHOWN_SECONDS - 2 && sample.at <= at);
    for (const chart of this.charts) chart.draw(this.samples);
    this.write(tick);
  }

  /** @returns {Sample | undefined} */
  get last() {
    return this.samples.at(-1);
  }

  /** @param {Tick} tick */
  write({ matching }) {
    const { last } = this;
    if (last === undefined) return;
    const values = {
      passed: shown(last.passed),
      rejected: shown(last.rejected),
      utilisation: last.utilisation === null ? 'unavailable' : `${shown(last.utilisation * 100)} %`,
      p99: last.p99 === null ? 'unavailable' : shownTime(last.p99),
      waiting: shown(matching?.waiting ?? 0),
    };
    for (const [name, text] of Object.entries(values)) {
      for (const element of document.querySelectorAll(`[data-value="${name}"]`)) say(element, text);
    }
    this.tabulate(last.at);
  }

  /** @param {number} now */
  tabulate(now) {
    const body = byId('figures');
    if (!(/** @type {HTMLDetailsElement} */ (body.closest('details')).open)) return;
    const rows = [];
    for (let ago = 0; ago < TABLE_ROWS; ago++) {
      const sample = this.samples.findLast(({ at }) => at <= now - ago && at > now - ago - 1);
      if (sample === undefined) continue;
      const { passed, rejected, utilisation, p99 } = sample;
      const cells = [
        shown(passed),
        shown(rejected),
        utilisation === null ? 'unavailable' : `${shown(utilisation * 100)} %`,
        p99 === null ? 'unavailable' : shownTime(p99),
      ];
      const head = make('th', '', String(ago));
      head.scope = 'row';
      rows.push(make('tr', '', head, ...cells.map((cell) => make('td', '', cell))));
    }
    body.replaceChildren(...rows);
  }
}

class Chart {
  /** @type {uPlot | undefined} */
  plot;

  /**
   * @param {string} id the ID of the figure
   * @param {(value: number) => string} format formats a number on the axis
   * @param {number} least the lowest top of the axis
   * @param {readonly Line[]} lines
   */
  constructor(id, format, least, lines) {
    this.place = /** @type {HTMLElement} */ (byId(id).querySelector('.plot'));
    this.format = format;
    this.least = least;
    this.lines = lines;
    new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height: HEIGHT })).observe(this.place);
  }

  /** @param {readonly Sample[]} samples */
  draw(samples) {
    if (this.plot === undefined) this.rebuild(samples);
    else this.plot.setData(this.data(samples));
  }

  /** Draws again with the colours of the theme. @param {readonly Sample[]} samples */
  rebuild(samples) {
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), this.data(samples), this.place);
  }

  /**
   * @param {readonly Sample[]} samples
   * @returns {uPlot.AlignedData}
   */
  data(samples) {
    return [samples.map(({ at }) => at), ...this.lines.map(({ values }) => samples.map((sample) => sample[values]))];
  }

  /** @returns {uPlot.Options} */
  options() {
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color('--muted'),
      font: '12px system-ui, sans-serif',
      grid: { stroke: color('--line'), width: 1 },
      ticks: { show: false },
    };
    return {
      width: this.place.clientWidth,
      height: HEIGHT,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: (_, __, max) => [max - SHOWN_SECONDS, max] },
        y: { range: (_, __, max) => [0, Math.max(this.least, max * 1.1)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          splits: ({ scales }) => [60, 40, 20, 0].map((ago) => (scales['x']?.max ?? 0) - ago),
          values: () => ['−60 s', '−40 s', '−20 s', 'now'],
        },
        { ...axis, size: 56, space: 36, values: (_, splits) => splits.map(this.format) },
      ],
      series: [
        {},
        ...this.lines.map((line) => ({
          stroke: color(line.color),
          width: 2,
          points: { show: false },
          ...(line.dash && { dash: line.dash }),
          ...(line.fill && { fill: `${color(line.color)}22` }),
        })),
      ],
    };
  }
}
