import { busiest } from '../model/admitted.js';
import { beginDrawing, scaleOf } from './canvas.js';
import { colors } from './colors.js';
import { drawMarks } from './marks.js';

/** @typedef {import('./canvas.js').View} View */
/** @typedef {import('../model/lane.js').Lane} Lane */

/** From the top of a picture, in pixels. */
const LEVEL = { top: 6, bottom: 40 };
const SECOND = 1_000_000;

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
 * Draws the seconds.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {View} view
 */
export function drawAxis(canvas, view) {
  const drawing = beginDrawing(canvas);
  if (drawing === undefined) return;
  const { context, width, height } = drawing;
  const x = scaleOf(view, width);
  const { muted, edge } = colors();
  const span = (view.now - view.from) / SECOND;
  const room = width / 56;
  const step = [1, 2, 5, 10, 20, 30, 60].find((seconds) => span / seconds <= room) ?? 60;
  const first = Math.max(0, Math.ceil((view.from - view.origin) / SECOND / step) * step);
  context.fillStyle = muted;
  context.strokeStyle = edge;
  context.textAlign = 'center';
  for (let second = first; second * SECOND <= view.now - view.origin; second += step) {
    const at = x(view.origin + second * SECOND);
    if (at < 12 || at > width - 44) continue;
    context.fillText(`${second} s`, at, height - 8);
    line(context, at, height - 5, at, height);
  }
  context.textAlign = 'right';
  context.fillText('now', width - 2, height - 8);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} height
 */
function drawEdges(context, { from, now, origin, window }, x, height) {
  context.save();
  context.strokeStyle = colors().edge;
  context.setLineDash([2, 3]);
  for (let at = origin + Math.max(0, Math.ceil((from - origin) / window)) * window; at <= now; at += window) {
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
  const length = (most.to - most.from) / SECOND;
  const text = `${most.count} passed within ${length < 0.1 ? length.toFixed(3) : length.toFixed(1)} s, limit ${lane.algorithm.limit}`;
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
