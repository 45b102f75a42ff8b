import { busiest } from '../model/admitted.js';
import { UNITS } from '../model/settings.js';
import { beginDrawing, scaleOf } from './canvas.js';
import { colors } from './colors.js';
import { time } from './dom.js';
import { drawMarks } from './marks.js';

/** @typedef {import('./canvas.js').View} View */
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
 * @param {HTMLCanvasElement} canvas
 * @param {Lane} lane
 * @param {View} view
 */
export function drawRow(canvas, lane, view) {
  const drawing = beginDrawing(canvas);
  if (drawing === undefined) return;
  const { context, width, height } = drawing;
  const x = scaleOf(view, width);
  const { algorithm } = lane;
  const isWindow = algorithm.name === 'fixed-window' || algorithm.name === 'sliding-window-counter';
  if (isWindow) drawEdges(context, view, x, height);
  drawLevel(context, lane, view, x);
  drawLimit(context, algorithm.limit, x(view.now));
  if (lane.hasLow) drawLowPart(context, lane.lowPart, x(view.now));
  const bottom = drawMarks(context, lane, view, x, LEVEL.bottom + 4, height);
  if (isWindow) drawBusiest(context, lane, view, x, bottom);
  drawNow(context, x(view.now), height);
}

/**
 * Draws the times.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {View} view
 */
export function drawAxis(canvas, view) {
  const drawing = beginDrawing(canvas);
  if (drawing === undefined) return;
  const { context, width, height } = drawing;
  const x = scaleOf(view, width);
  const { muted, edge, ink } = colors();
  const least = ((view.to - view.from) / width) * LABEL;
  const step = (STEPS.find((ms) => ms * 1000 >= least) ?? UNITS.d * 50_000) * 1000;
  const now = Math.min(x(view.now), width - 14);
  context.strokeStyle = edge;
  context.textAlign = 'center';
  context.fillStyle = ink;
  context.fillText('now', Math.max(now, 14), height - 8);
  context.fillStyle = muted;
  for (let at = Math.ceil((view.from - view.origin) / step) * step; at <= view.to - view.origin; at += step) {
    const place = x(view.origin + at);
    line(context, place, height - 5, place, height);
    const half = context.measureText(time(at)).width / 2;
    if (place < half || place > width - half || Math.abs(place - now) < half + 16) continue;
    context.fillText(time(at), place, height - 8);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} height
 */
function drawEdges(context, { from, to, origin, window }, x, height) {
  context.save();
  context.strokeStyle = colors().edge;
  context.setLineDash([2, 3]);
  for (let at = origin + Math.max(0, Math.ceil((from - origin) / window)) * window; at <= to; at += window) {
    line(context, Math.round(x(at)) + 0.5, 0, Math.round(x(at)) + 0.5, height);
  }
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {View} view
 * @param {(at: number) => number} x
 */
function drawLevel(context, lane, { from, now }, x) {
  const { samples } = lane;
  const y = (/** @type {number} */ used) => LEVEL.bottom - Math.min(1, used) * (LEVEL.bottom - LEVEL.top);
  let first = firstAfter(samples, from) - 1;
  if (first < 0) first = 0;
  const path = new Path2D();
  const begin = Math.max(0, x(samples[first]?.at ?? now));
  path.moveTo(begin, y(samples[first]?.used ?? 0));
  for (let i = first + 1; i < samples.length; i++) {
    const { at, used } = /** @type {import('../model/lane.js').Sample} */ (samples[i]);
    // A bucket's level falls steadily, that of the others in steps.
    if (!lane.algorithm.refills) path.lineTo(Math.max(0, x(at)), y(samples[i - 1]?.used ?? 0));
    path.lineTo(Math.max(0, x(at)), y(used));
  }
  const end = x(now);
  path.lineTo(end, y(lane.used(now)));
  context.strokeStyle = colors().level;
  context.lineWidth = 1.5;
  context.lineJoin = 'round';
  context.stroke(path);
  path.lineTo(end, LEVEL.bottom);
  path.lineTo(begin, LEVEL.bottom);
  fillFaintly(context, path);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Path2D} path
 */
function fillFaintly(context, path) {
  context.save();
  context.fillStyle = colors().level;
  context.globalAlpha = 0.16;
  context.fill(path);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} limit
 * @param {number} end
 */
function drawLimit(context, limit, end) {
  const { ink, muted, line: faint } = colors();
  context.save();
  context.lineWidth = 1;
  context.strokeStyle = faint;
  line(context, 0, LEVEL.bottom + 0.5, end, LEVEL.bottom + 0.5);
  context.strokeStyle = ink;
  context.setLineDash([5, 4]);
  line(context, 0, LEVEL.top - 0.5, end, LEVEL.top - 0.5);
  context.restore();
  context.textAlign = 'left';
  context.fillStyle = muted;
  context.fillText(String(limit), 2, LEVEL.top + 12);
}

/**
 * The line at which requests of low priority are rejected.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {number} part of the limit
 * @param {number} end
 */
function drawLowPart(context, part, end) {
  const y = LEVEL.bottom - part * (LEVEL.bottom - LEVEL.top);
  context.save();
  context.lineWidth = 1;
  context.strokeStyle = colors().muted;
  context.setLineDash([2, 4]);
  line(context, 0, y, end, y);
  context.restore();
}

/**
 * A bracket over the busiest window-long interval, where it holds more than the limit.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} y
 */
function drawBusiest(context, lane, { from, now, window }, x, y) {
  const most = busiest(lane.marks, window, now);
  if (most.count <= lane.algorithm.limit || most.from < from) return;
  const { ink, card } = colors();
  const [left, right] = [x(most.from) - 4, x(most.to) + 4];
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(left, y - 4);
  context.lineTo(left, y);
  context.lineTo(right, y);
  context.lineTo(right, y - 4);
  context.stroke();
  const text = `${most.count} passed within ${time(most.to - most.from)}, limit ${lane.algorithm.limit}`;
  context.font = context.font.replace('11px', '600 12px');
  const wide = context.measureText(text).width;
  const middle = Math.max(wide / 2 + 4, Math.min((left + right) / 2, x(now) - wide / 2 - 4));
  context.fillStyle = card;
  context.fillRect(middle - wide / 2 - 3, y + 2, wide + 6, 15);
  context.fillStyle = ink;
  context.textAlign = 'center';
  context.fillText(text, middle, y + 14);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} at
 * @param {number} height
 */
function drawNow(context, at, height) {
  context.strokeStyle = colors().ink;
  context.lineWidth = 1;
  line(context, Math.round(at) + 0.5, 0, Math.round(at) + 0.5, height);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/**
 * @param {readonly { readonly at: number }[]} list
 * @param {number} instant
 */
function firstAfter(list, instant) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (/** @type {{ at: number }} */ (list[middle]).at <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
