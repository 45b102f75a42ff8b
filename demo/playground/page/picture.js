import { busiest } from '../model/admitted.js';
import { UNITS } from '../model/settings.js';
import { beginDrawing, line } from './canvas.js';
import { colors } from './colors.js';
import { time } from './dom.js';
import { drawMarks, write } from './marks.js';

/** @typedef {import('./canvas.js').View} View */
/** @typedef {import('./canvas.js').Pen} Pen */
/** @typedef {import('../model/lane.js').Lane} Lane */

/** From the top of a picture, in pixels. */
const LEVEL = { top: 6, bottom: 40 };
/** Between two labels of the axis, at least. */
const LABEL = 64;
/** Steps of the axis in milliseconds, from 1 ms to 50,000 days. */
const STEPS = [
  ...[1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[UNITS.s, UNITS.m].flatMap((unit) => [1, 2, 5, 10, 20, 30].map((count) => count * unit)),
  ...[1, 2, 3, 6, 12].map((hours) => hours * UNITS.h),
  ...[1, 10, 100, 1_000, 10_000].flatMap((days) => [days, 2 * days, 5 * days].map((count) => count * UNITS.d)),
];

/**
 * Draws a row: how much of its limit the algorithm uses, and below it what became of each request.
 *
 * @type {(canvas: HTMLCanvasElement, lane: Lane, view: View) => void}
 */
export function drawRow(canvas, lane, view) {
  const pen = beginDrawing(canvas, view);
  if (pen === undefined) return;
  const { context, height } = pen;
  const { name } = lane.algorithm;
  const isWindow = name === 'fixed-window' || name === 'sliding-window-counter';
  context.lineWidth = 1;
  if (isWindow) drawEdges(pen, lane);
  drawLevel(pen, lane);
  drawLimit(pen, lane);
  const now = Math.round(pen.x(view.now)) + 0.5;
  line(pen, colors().ink, [now, 0, now, height]);
  writeLimit(pen, lane);
  const bottom = drawMarks(pen, lane, LEVEL.bottom + 4);
  if (isWindow) drawBusiest(pen, lane, bottom);
}

/**
 * Draws the times.
 *
 * @type {(canvas: HTMLCanvasElement, view: View) => void}
 */
export function drawAxis(canvas, view) {
  const pen = beginDrawing(canvas, view);
  if (pen === undefined) return;
  const { context, width, height, x } = pen;
  const { muted, edge, ink } = colors();
  const least = ((view.to - view.from) / width) * LABEL;
  const step = (STEPS.find((ms) => ms * 1000 >= least) ?? UNITS.d * 50_000) * 1000;
  const now = Math.min(x(view.now), width - 14);
  context.textAlign = 'center';
  context.fillStyle = ink;
  context.fillText('now', Math.max(now, 14), height - 8);
  context.fillStyle = muted;
  for (let at = Math.ceil((view.from - view.origin) / step) * step; at <= view.to - view.origin; at += step) {
    const place = x(view.origin + at);
    line(pen, edge, [place, height - 5, place, height]);
    const half = context.measureText(time(at)).width / 2;
    const isFree = place >= half && place <= width - half && Math.abs(place - now) >= half + 16;
    if (isFree) context.fillText(time(at), place, height - 8);
  }
}

/** @type {(pen: Pen, lane: Lane) => void} */
function drawEdges(pen, lane) {
  const { from, to } = pen.view;
  for (const at of lane.edgesAfter(from - 1)) {
    if (at > to) break;
    const place = Math.round(pen.x(at)) + 0.5;
    line(pen, colors().edge, [place, 0, place, pen.height], [2, 3]);
  }
}

/** @type {(pen: Pen, lane: Lane) => void} */
function drawLevel({ context, x, view: { from, now } }, lane) {
  const { samples, algorithm } = lane;
  const y = (/** @type {number} */ used) => LEVEL.bottom - Math.min(1, used) * (LEVEL.bottom - LEVEL.top);
  const first = Math.max(0, firstAfter(samples, from) - 1);
  const path = new Path2D();
  let [begin, before] = [0, 0];
  for (const [i, { at, used }] of [...samples.slice(first), { at: now, used: lane.used(now) }].entries()) {
    const place = Math.max(0, x(at));
    if (i === 0) begin = place;
    // A bucket's level falls steadily, that of the others in steps.
    else if (!algorithm.refills) path.lineTo(place, y(before));
    path.lineTo(place, y(used));
    before = used;
  }
  context.strokeStyle = colors().level;
  context.lineWidth = 1.5;
  context.lineJoin = 'round';
  context.stroke(path);
  context.lineWidth = 1;
  path.lineTo(x(now), LEVEL.bottom);
  path.lineTo(begin, LEVEL.bottom);
  context.fillStyle = colors().level;
  context.globalAlpha = 0.16;
  // A canvas is no array.
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type
  context.fill(path);
  context.globalAlpha = 1;
}

/**
 * The lines at which requests are rejected: those of low priority at their part of the limit.
 *
 * @type {(pen: Pen, lane: Lane) => void}
 */
function drawLimit(pen, { hasLow, lowPart }) {
  const { ink, muted, line: faint } = colors();
  const across = (/** @type {number} */ y) => [0, y, pen.x(pen.view.now), y];
  line(pen, faint, across(LEVEL.bottom + 0.5));
  line(pen, ink, across(LEVEL.top - 0.5), [5, 4]);
  if (hasLow) line(pen, muted, across(LEVEL.bottom - lowPart * (LEVEL.bottom - LEVEL.top)), [2, 4]);
}

/** @type {(pen: Pen, lane: Lane) => void} */
function writeLimit({ context }, { algorithm }) {
  context.textAlign = 'left';
  write(context, algorithm.limit.toLocaleString('en-US'), 2, LEVEL.top + 12, colors().muted);
}

/**
 * A bracket over the busiest window-long interval, where it holds more than the limit.
 *
 * @type {(pen: Pen, lane: Lane, y: number) => void}
 */
function drawBusiest(pen, lane, y) {
  const { context, x, view } = pen;
  const most = busiest(lane.marks, view.window, view.now);
  if (most.count <= lane.algorithm.limit || most.from < view.from) return;
  const { ink, card } = colors();
  const [left, right] = [x(most.from) - 4, x(most.to) + 4];
  context.lineWidth = 1.5;
  line(pen, ink, [left, y - 4, left, y, right, y, right, y - 4]);
  const text = `${most.count} passed within ${time(most.to - most.from)}, limit ${lane.algorithm.limit}`;
  context.font = context.font.replace('11px', '600 12px');
  const wide = context.measureText(text).width;
  const middle = Math.max(wide / 2 + 4, Math.min((left + right) / 2, x(view.to) - wide / 2 - 4));
  context.fillStyle = card;
  context.fillRect(middle - wide / 2 - 3, y + 2, wide + 6, 15);
  context.fillStyle = ink;
  context.textAlign = 'center';
  context.fillText(text, middle, y + 14);
}

/** @type {(list: readonly { readonly at: number }[], instant: number) => number} */
function firstAfter(list, instant) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.at ?? 0) <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
