import type { CaseSeries } from '../../figures/series.js';
import { duration, figure } from '../text-table.js';
import { escaped, polyline, ticksOf } from './svg.js';

/** In pixels at a width of 400: a phone shows a chart at its natural size. */
const BOX = { width: 400, height: 230, left: 46, right: 8, top: 16, bottom: 30 };
const PLOT = { width: BOX.width - BOX.left - BOX.right, height: BOX.height - BOX.top - BOX.bottom };
/** A longer surge has columns of several seconds. */
const MAX_COLUMNS = 120;

/** What all charts of a report share, so that they can be compared. */
export interface Scale {
  readonly seconds: number;
  /** Answers per second. */
  readonly answers: number;
  readonly ms: number;
}

export function scaleOf(all: readonly CaseSeries[]): Scale {
  const highest = (values: readonly (number | null)[]): number =>
    values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const answers = all.flatMap((one) => [
    one.capacity,
    highest(one.seconds.map((i) => one.served[i]! + one.rejected[i]! + one.failed[i]!)),
  ]);
  return {
    seconds: Math.max(1, ...all.map(({ seconds }) => seconds.length)),
    answers: ticksOf(highest(answers)).at(-1)!,
    ms: ticksOf(highest(all.map(({ p99 }) => highest(p99)))).at(-1)!,
  };
}

const STACK = [
  ['served', 'served'],
  ['rejected', 'refused'],
  ['failed', 'failed'],
] as const;

/** Served, refused and failed requests per second, one above the other, with what matching can serve as a line. */
export function answersChart(series: CaseSeries, scale: Scale): string {
  const { capacity, title } = series;
  const total = STACK.map(([key, name]) => `${figure(series[key].reduce((sum, one) => sum + one, 0))} ${name}`);
  const y = (value: number): number => BOX.top + PLOT.height * (1 - value / scale.answers);
  const size = Math.ceil(scale.seconds / MAX_COLUMNS);
  const columns = Array.from({ length: Math.ceil(series.seconds.length / size) }, (_, i) => columnOf(series, i, size));
  const paths = STACK.map(([key, name], layer) => {
    const d = columns.map(({ from, to, rates }) => {
      const below = rates.slice(0, layer).reduce((sum, rate) => sum + rate, 0);
      const rate = rates[layer]!;
      if (rate === 0) return '';
      const [left, width] = [at(from, scale) + 0.5, ((to - from) * PLOT.width) / scale.seconds - 1];
      return `M${left.toFixed(1)} ${y(below).toFixed(1)}h${width.toFixed(1)}V${y(below + rate).toFixed(1)}h${(-width).toFixed(1)}z`;
    });
    return `<path class="${name}" data-outcome="${key}" d="${d.join('')}"/>`;
  });
  const hits = columns.map(({ from, to, rates }) => {
    const texts = STACK.map(([, name], layer) => `${figure(rates[layer])} ${name}`);
    const width = ((to - from) * PLOT.width) / scale.seconds;
    return `<rect class="hit" x="${at(from, scale).toFixed(1)}" y="${BOX.top}" width="${width.toFixed(1)}" height="${PLOT.height}"><title>${from} to ${to} s, per second: ${texts.join(', ')}</title></rect>`;
  });
  const line = y(capacity).toFixed(1);
  return chart(
    `${title}: ${total.join(', ')}. Matching can serve ${figure(capacity)} requests per second.`,
    [
      axes(scale, scale.answers, (value) => figure(value)),
      ...paths,
      `<path class="capacity" d="M${BOX.left} ${line}H${BOX.width - BOX.right}"/>`,
      ...hits,
      endMark(series, scale),
      `<text class="mark" x="${BOX.width - BOX.right - 2}" y="${(Number(line) - 6).toFixed(1)}" text-anchor="end">matching serves ${figure(capacity)}/s</text>`,
    ].join('\n'),
  );
}

/** How long the requests took that were not refused, by the second of sending. */
export function latencyChart(series: CaseSeries, scale: Scale): string {
  const highest = series.p99.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const point = (value: number, second: number): [number, number] => [
    at(second + 0.5, scale),
    BOX.top + PLOT.height * (1 - value / scale.ms),
  ];
  return chart(
    `${series.title}: of each second's requests that were not refused, p99 was at most ${duration(highest)}.`,
    [
      axes(scale, scale.ms, (ms) => (ms === 0 ? '0' : duration(ms))),
      `<path class="median" d="${polyline(series.median, point)}"/>`,
      `<path class="p99" d="${polyline(series.p99, point)}"/>`,
      endMark(series, scale),
    ].join('\n'),
  );
}

/** The averages of several seconds. */
function columnOf(series: CaseSeries, index: number, size: number): { from: number; to: number; rates: number[] } {
  const from = index * size;
  const to = Math.min(from + size, series.seconds.length);
  const rates = STACK.map(([key]) => series[key].slice(from, to).reduce((sum, one) => sum + one, 0) / (to - from));
  return { from, to, rates };
}

function at(second: number, { seconds }: Scale): number {
  return BOX.left + (PLOT.width * second) / seconds;
}

function chart(alternative: string, content: string): string {
  return `<svg viewBox="0 0 ${BOX.width} ${BOX.height}" role="img" aria-label="${escaped(alternative)}">\n${content}\n</svg>`;
}

function axes(scale: Scale, top: number, text: (value: number) => string): string {
  const rows = ticksOf(top).map((value) => {
    const y = (BOX.top + PLOT.height * (1 - value / top)).toFixed(1);
    return `<path class="grid" d="M${BOX.left} ${y}H${BOX.width - BOX.right}"/><text x="${BOX.left - 6}" y="${Number(y) + 4}" text-anchor="end">${text(value)}</text>`;
  });
  const columns = ticksOf(scale.seconds)
    .filter((second) => second <= scale.seconds)
    .map((second) => {
      const x = at(second, scale);
      const anchor = x > BOX.width - 20 ? 'end' : 'middle';
      return `<text x="${x.toFixed(1)}" y="${BOX.height - 10}" text-anchor="${anchor}">${figure(second)} s</text>`;
    });
  return [...rows, ...columns].join('');
}

/** Riders stop sending, and the answers to the last requests still come. */
function endMark({ sentFor, seconds }: CaseSeries, scale: Scale): string {
  if (seconds.length - sentFor < 0.5) return '';
  const x = at(sentFor, scale).toFixed(1);
  return `<path class="end" d="M${x} ${BOX.top}V${BOX.top + PLOT.height}"/><text class="mark" x="${x}" y="11" text-anchor="middle">riders stop</text>`;
}
