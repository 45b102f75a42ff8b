import { spanOf } from '../model/lane.js';

/**
 * What a picture shows of the time. Instants are microseconds. `to` is the right edge: it is later than now while the timeline is
 * shorter than the picture.
 *
 * @typedef {{ from: number, to: number, now: number, origin: number, window: number }} View
 */

/**
 * A canvas that is drawn on, in CSS pixels: `x` says where an instant lies, `left` where `view.from` does.
 *
 * @typedef {{ context: CanvasRenderingContext2D, width: number, height: number, view: View, left: number, x: (at: number) => number }} Pen
 */

/** What stays free at both edges: a mark, and the number over a stack of them, is as wide. */
const ASIDE = 12;

/**
 * Makes a canvas as sharp as the screen; undefined while it has no size.
 *
 * @type {(canvas: HTMLCanvasElement, view: View) => Pen | undefined}
 */
export function beginDrawing(canvas, view) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (context === null || width === 0 || height === 0) return undefined;
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  const each = (width - 2 * ASIDE) / (view.to - view.from);
  return { context, width, height, view, left: ASIDE, x: (at) => ASIDE + (at - view.from) * each };
}

/**
 * Draws a line.
 *
 * @type {(pen: Pen, color: string, points: readonly number[], dash?: number[]) => void} points: x, y, x, y ...
 */
export function line({ context }, color, points, dash = []) {
  context.strokeStyle = color;
  context.setLineDash(dash);
  context.beginPath();
  for (let i = 0; i < points.length; i += 2) context.lineTo(points[i] ?? 0, points[i + 1] ?? 0);
  context.stroke();
  context.setLineDash([]);
}

/**
 * @param {import('../model/timeline.js').Timeline} timeline
 * @param {number} [from] where the picture begins, in milliseconds: it ends now. Default: as much as a picture shows
 * @returns {View}
 */
export function viewOf({ settings: { windowMs }, clock, origin }, from) {
  const rest = { now: clock, origin, window: windowMs * 1000 };
  if (from !== undefined) return { from: origin + from * 1000, to: clock, ...rest };
  const span = spanOf(windowMs) * 1000;
  const to = Math.max(clock, origin + span);
  return { from: to - span, to, ...rest };
}
