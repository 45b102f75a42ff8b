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
 * @property {number} now
 * @property {number} origin
 * @property {number} window
 */

/** What stays free between now and the right edge: a mark is as wide. */
const RIGHT = 12;

/**
 * @param {View} view
 * @param {number} width
 * @returns {(at: number) => number} where an instant lies
 */
export function scaleOf({ from, now }, width) {
  const each = (width - RIGHT) / (now - from);
  return (at) => (at - from) * each;
}

/** Windows that a picture shows; at least and at most so many seconds. */
const WINDOWS = 3;
const SHORTEST_MS = 15_000;
const LONGEST_MS = 180_000;

/**
 * @param {import('../model/timeline.js').Timeline} timeline
 * @returns {View}
 */
export function viewOf({ settings: { windowMs }, clock, origin }) {
  const span = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, WINDOWS * windowMs)) * 1000;
  return { from: clock - span, now: clock, origin, window: windowMs * 1000 };
}
