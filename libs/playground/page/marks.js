import { colors } from './colors.js';

/** @typedef {import('./canvas.js').View} View */
/** @typedef {import('../model/lane.js').Lane} Lane */
/** @typedef {import('../model/lane.js').Mark} Mark */

/** A mark in pixels. */
const SIZE = 4.6;
const PITCH = 4.8;
/** Dots of requests of low priority are paler. */
const LOW_ALPHA = 0.45;
/** More dots than these in one place lie closer together. More crosses are not drawn: a number says how many there are. */
const MOST_UP = 10;
const MOST_DOWN = 4;
/** Marks closer than this on the screen stand in one stack. */
const BIN = 6;

/**
 * Draws what became of each request: a dot that stands on the line passed, a cross below it was rejected. A stack of dots is a
 * burst. Of a leaky bucket a ring is a request that waits, and a line leads it to its slot.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} top
 * @param {number} height
 * @returns {number} where the space below the dots begins
 */
export function drawMarks(context, lane, view, x, top, height) {
  const base = top + MOST_UP * PITCH + 10;
  const { algorithm, marks } = lane;
  context.strokeStyle = colors().line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, base + 0.5);
  context.lineTo(x(view.now), base + 0.5);
  context.stroke();
  const shown = marks.filter(({ at, until }) => Math.max(at, until) >= view.from && at <= view.now);
  const bin = ((view.to - view.from) / x(view.to)) * BIN;
  if (algorithm.delays) drawWaits(context, shown, view, x, base, bin);
  else if (algorithm.lease === undefined) drawDots(context, shown, x, base, bin);
  else drawRuns(context, lane, shown, view, x, base);
  drawCrosses(context, shown, x, base, bin);
  return Math.min(height - 18, base + 7);
}

/**
 * @param {readonly Mark[]} marks
 * @param {number} bin microseconds
 * @param {(mark: Mark) => number} instant
 * @returns {Map<number, Mark[]>} the marks of each place, by its number
 */
function stacks(marks, bin, instant) {
  /** @type {Map<number, Mark[]>} */
  const found = new Map();
  for (const mark of marks) {
    const place = Math.floor(instant(mark) / bin);
    const stack = found.get(place);
    if (stack === undefined) found.set(place, [mark]);
    else stack.push(mark);
  }
  return found;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Mark[]} marks
 * @param {(at: number) => number} x
 * @param {number} base
 * @param {number} bin
 */
function drawDots(context, marks, x, base, bin) {
  drawStacks(
    context,
    stacks(
      marks.filter(({ allowed }) => allowed),
      bin,
      ({ at }) => at,
    ),
    (place) => x((place + 0.5) * bin),
    base,
  );
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {ReadonlyMap<number, readonly Mark[]>} all by their places, in order
 * @param {(place: number) => number} x
 * @param {number} base
 */
function drawStacks(context, all, x, base) {
  const { served, ink } = colors();
  const number = numbers(context);
  for (const [place, stack] of all) {
    const { length } = stack;
    const at = x(place);
    const pitch = pitchOf(length);
    context.fillStyle = served;
    for (const [i, { isLow }] of stack.entries()) {
      context.globalAlpha = isLow ? LOW_ALPHA : 1;
      dot(context, at, base - SIZE / 2 - 0.5 - i * pitch);
    }
    context.globalAlpha = 1;
    number(length, at, base - 3 - length * pitch, ink);
  }
}

/**
 * Writes how many there are in a stack, where a reader would not count them, and where the number before leaves room.
 *
 * @param {CanvasRenderingContext2D} context
 * @returns {(count: number, x: number, y: number, color: string) => void} to be called from left to right
 */
function numbers(context) {
  let end = -Infinity;
  context.textAlign = 'center';
  return (count, x, y, color) => {
    const text = String(count);
    const half = context.measureText(text).width / 2;
    if (count <= 2 || x - half < end + 2) return;
    end = x + half;
    context.fillStyle = color;
    context.fillText(text, x, y);
  };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Mark[]} marks
 * @param {(at: number) => number} x
 * @param {number} base
 * @param {number} bin
 */
function drawCrosses(context, marks, x, base, bin) {
  const { refused, refusedText } = colors();
  context.lineWidth = 1.5;
  const number = numbers(context);
  const rejected = marks.filter(({ allowed }) => !allowed);
  for (const [place, stack] of stacks(rejected, bin, ({ at }) => at)) {
    const at = x((place + 0.5) * bin);
    const drawn = Math.min(stack.length, MOST_DOWN);
    context.strokeStyle = refused;
    for (let i = 0; i < drawn; i++) cross(context, at, base + 5 + i * PITCH);
    number(stack.length, at, base + 13 + drawn * PITCH, refusedText);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Mark[]} marks
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} base
 * @param {number} bin
 */
function drawWaits(context, marks, { now }, x, base, bin) {
  const { served, ink, card } = colors();
  const passed = marks.filter(({ allowed }) => allowed);
  const number = numbers(context);
  const waiting = passed.filter(({ delay }) => delay > 0);
  for (const [place, stack] of stacks(waiting, bin, ({ at }) => at)) {
    const at = x((place + 0.5) * bin);
    const pitch = pitchOf(stack.length);
    for (const [i, { until }] of stack.entries()) {
      const y = base - SIZE / 2 - 0.5 - (i + 1) * pitch;
      const end = x(until);
      context.save();
      context.strokeStyle = served;
      context.globalAlpha = 0.55;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(at, y);
      context.lineTo(end - Math.min(12, (end - at) / 2), y);
      context.lineTo(end, base - SIZE / 2);
      context.stroke();
      context.restore();
      context.fillStyle = card;
      context.strokeStyle = served;
      context.lineWidth = 1.2;
      context.beginPath();
      context.arc(at, y, SIZE / 2, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
    number(stack.length, at, base - 4 - (stack.length + 1) * pitch, ink);
  }
  // The dots stand where the requests pass.
  const gone = passed.filter(({ until }) => until <= now);
  drawStacks(
    context,
    stacks(gone, bin, ({ until }) => until),
    (place) => x((place + 0.5) * bin),
    base,
  );
}

/**
 * A bar for each request that runs, as long as it holds its lease.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {readonly Mark[]} marks
 * @param {View} view
 * @param {(at: number) => number} x
 * @param {number} base
 */
function drawRuns(context, lane, marks, { now }, x, base) {
  const { served } = colors();
  const { limit } = lane.algorithm;
  const pitch = Math.min(10, (MOST_UP * PITCH) / limit);
  /** When each line is free again. @type {number[]} */
  const free = [];
  for (const { allowed, at, until, lostAt } of marks) {
    if (!allowed) continue;
    let row = free.findIndex((end) => end <= at);
    if (row < 0) row = free.length;
    free[row] = until;
    const y = base - SIZE / 2 - 1 - row * pitch;
    context.strokeStyle = served;
    context.fillStyle = served;
    context.lineWidth = Math.max(1, Math.min(3, pitch / 2));
    bar(context, x(at), x(Math.min(until, lostAt ?? until, now)), y, []);
    if (lostAt !== undefined) bar(context, x(lostAt), x(Math.min(until, now)), y, [3, 3]);
    if (pitch >= SIZE) dot(context, x(at), y);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @param {number[]} dash
 */
function bar(context, from, to, y, dash) {
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.stroke();
  context.setLineDash([]);
}

/** @param {number} count */
function pitchOf(count) {
  return count <= MOST_UP ? PITCH : (MOST_UP * PITCH) / count;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 */
function dot(context, x, y) {
  context.beginPath();
  context.arc(x, y, SIZE / 2, 0, 2 * Math.PI);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 */
function cross(context, x, y) {
  const half = SIZE / 2;
  context.beginPath();
  context.moveTo(x - half, y - half);
  context.lineTo(x + half, y + half);
  context.moveTo(x + half, y - half);
  context.lineTo(x - half, y + half);
  context.stroke();
}
