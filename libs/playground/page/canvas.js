import { spanOf } from '../model/lane.js';

/**
 * A canvas that is as sharp as the screen, in CSS pixels.
 *
 * @param {HTMLCanvasElement} canvas
 * @returns {{ context: CanvasRenderingContext2D, width: number, height: number } | undefined} undefined while it has no size
 */
export function beginDrawing(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (context === null || width === 0 || height === 0) return undefined;
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  return { context, width, height };
}

/**
 * What a picture shows of the time. Instants are microseconds.
 *
 * @typedef {object} View
 * @property {number} from
 * @property {number} to the right edge: later than now while the timeline is shorter than the picture
 * @property {number} now
 * @property {number} origin
 * @property {number} window
 */

/** What stays free at the right edge: a mark is as wide. */
const RIGHT = 12;

/**
 * @param {View} view
 * @param {number} width
 * @returns {(at: number) => number} where an instant lies
 */
export function scaleOf({ from, to }, width) {
  const each = (width - RIGHT) / (to - from);
  return (at) => (at - from) * each;
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
