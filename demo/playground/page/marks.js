import { line } from './canvas.js';
import { colors } from './colors.js';

/** @typedef {import('./canvas.js').Pen} Pen */
/** @typedef {import('../model/lane.js').Lane} Lane */
/** @typedef {import('../model/lane.js').Mark} Mark */

/** A mark in pixels. */
const SIZE = 4.6;
const PITCH = 4.8;
const SQUARE_LINE = 1.2;
/** Dots of requests of low priority are paler. */
const LOW_ALPHA = 0.45;
/** More dots than these in one place lie closer together. More squares are not drawn: a number says how many there are. */
const MOST_UP = 10;
const MOST_DOWN = 4;
/** Marks closer than this on the screen stand in one stack. */
const BIN = 6;

/**
 * Draws what became of each request: a dot that stands on the line passed, a square below it was rejected. A stack of dots is a
 * burst. Of a leaky bucket a ring is a request that waits, and a line leads it to its slot. The control room has the same shapes.
 *
 * @type {(pen: Pen, lane: Lane, top: number) => number} where the space below the dots begins
 */
export function drawMarks(pen, lane, top) {
  const { from, now } = pen.view;
  const base = top + MOST_UP * PITCH + 10;
  const { algorithm, marks } = lane;
  line(pen, colors().line, [0, base + 0.5, pen.x(now), base + 0.5]);
  const shown = marks.filter(({ at, until }) => Math.max(at, until) >= from && at <= now);
  const passed = shown.filter(({ allowed }) => allowed);
  if (algorithm.delays) drawWaits(pen, passed, base);
  else if (algorithm.lease === undefined) drawDots(pen, passed, ({ at }) => at, base);
  else drawRuns(pen, lane, passed, base);
  drawSquares(
    pen,
    shown.filter(({ allowed }) => !allowed),
    base,
  );
  return Math.min(pen.height - 18, base + 7);
}

/**
 * The marks of each place on the screen, from left to right.
 *
 * @type {(pen: Pen, marks: readonly Mark[], instant: (mark: Mark) => number) => { x: number, stack: Mark[] }[]}
 */
function stacks({ x, left, view: { from, to, origin } }, marks, instant) {
  const bin = ((to - from) / (x(to) - left)) * BIN;
  /** @type {Map<number, Mark[]>} */
  const found = new Map();
  for (const mark of marks) {
    const place = Math.floor((instant(mark) - origin) / bin);
    const stack = found.get(place);
    if (stack === undefined) found.set(place, [mark]);
    else stack.push(mark);
  }
  return Array.from(found, ([place, stack]) => ({ x: x(origin + (place + 0.5) * bin), stack }));
}

/** @type {(pen: Pen, marks: readonly Mark[], instant: (mark: Mark) => number, base: number) => void} */
function drawDots(pen, marks, instant, base) {
  const { context } = pen;
  const { served, ink } = colors();
  const number = numbers(context);
  for (const { x, stack } of stacks(pen, marks, instant)) {
    const pitch = pitchOf(stack.length);
    context.fillStyle = served;
    for (const [i, { isLow }] of stack.entries()) {
      context.globalAlpha = isLow ? LOW_ALPHA : 1;
      circle(context, x, base - SIZE / 2 - 0.5 - i * pitch);
      context.fill();
    }
    context.globalAlpha = 1;
    number(stack.length, x, base - 3 - stack.length * pitch, ink);
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
    const middle = Math.max(x, half + 1);
    if (count <= 2 || middle - half < end + 2) return;
    end = middle + half;
    write(context, text, middle, y, color);
  };
}

/**
 * Writes a text that stays readable on a line.
 *
 * @type {(context: CanvasRenderingContext2D, text: string, x: number, y: number, color: string) => void}
 */
export function write(context, text, x, y, color) {
  const { lineWidth, strokeStyle } = context;
  Object.assign(context, { lineWidth: 3, lineJoin: 'round', strokeStyle: colors().card, fillStyle: color });
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
  Object.assign(context, { lineWidth, strokeStyle });
}

/** @type {(pen: Pen, marks: readonly Mark[], base: number) => void} */
function drawSquares(pen, marks, base) {
  const { context } = pen;
  const { refusedText } = colors();
  const number = numbers(context);
  const side = SIZE - SQUARE_LINE;
  for (const { x, stack } of stacks(pen, marks, ({ at }) => at)) {
    const drawn = Math.min(stack.length, MOST_DOWN);
    // As thin as text, so in its colour.
    context.strokeStyle = refusedText;
    context.lineWidth = SQUARE_LINE;
    for (let i = 0; i < drawn; i++) context.strokeRect(x - side / 2, base + 5 + i * PITCH - side / 2, side, side);
    number(stack.length, x, base + 13 + drawn * PITCH, refusedText);
  }
}

/** @type {(pen: Pen, passed: readonly Mark[], base: number) => void} */
function drawWaits(pen, passed, base) {
  const { context } = pen;
  const { served, ink, card } = colors();
  const number = numbers(context);
  const waiting = passed.filter(({ delay }) => delay > 0);
  for (const { x, stack } of stacks(pen, waiting, ({ at }) => at)) {
    const pitch = pitchOf(stack.length);
    for (const [i, { until }] of stack.entries()) {
      const y = base - SIZE / 2 - 0.5 - (i + 1) * pitch;
      const end = pen.x(until);
      context.globalAlpha = 0.55;
      context.lineWidth = 1;
      line(pen, served, [x, y, end - Math.min(12, (end - x) / 2), y, end, base - SIZE / 2]);
      context.globalAlpha = 1;
      context.fillStyle = card;
      context.lineWidth = 1.2;
      circle(context, x, y);
      context.fill();
      context.stroke();
    }
    number(stack.length, x, base - 4 - (stack.length + 1) * pitch, ink);
  }
  // The dots stand where the requests pass.
  drawDots(
    pen,
    passed.filter(({ until }) => until <= pen.view.now),
    ({ until }) => until,
    base,
  );
}

/**
 * A bar for each request that runs, as long as it holds its lease.
 *
 * @type {(pen: Pen, lane: Lane, passed: readonly Mark[], base: number) => void}
 */
function drawRuns(pen, lane, passed, base) {
  const { context, x } = pen;
  const { now } = pen.view;
  const { served } = colors();
  const pitch = Math.min(10, (MOST_UP * PITCH) / lane.algorithm.limit);
  context.fillStyle = served;
  context.lineWidth = Math.max(1, Math.min(3, pitch / 2));
  /** When each line is free again. @type {number[]} */
  const free = [];
  for (const { at, until, lostAt } of passed) {
    let row = free.findIndex((end) => end <= at);
    if (row < 0) row = free.length;
    free[row] = until;
    const y = base - SIZE / 2 - 1 - row * pitch;
    line(pen, served, [x(at), y, x(Math.min(until, lostAt ?? until, now)), y]);
    if (lostAt !== undefined) line(pen, served, [x(lostAt), y, x(Math.min(until, now)), y], [3, 3]);
    if (pitch < SIZE) continue;
    circle(context, x(at), y);
    context.fill();
  }
}

/** @param {number} count */
function pitchOf(count) {
  return count <= MOST_UP ? PITCH : (MOST_UP * PITCH) / count;
}

/** @type {(context: CanvasRenderingContext2D, x: number, y: number) => void} */
function circle(context, x, y) {
  context.beginPath();
  context.arc(x, y, SIZE / 2, 0, 2 * Math.PI);
}
