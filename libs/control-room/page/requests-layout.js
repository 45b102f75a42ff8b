import { BOUNCE_MS, FALL_MS, LEAVE_MS, PASS_MS, TURN_MS } from './requests-model.js';

/** @typedef {import('./requests-model.js').DrawnRequest} DrawnRequest */
/** @typedef {import('./requests-model.js').RequestsModel} RequestsModel */
/**
 * A request on the picture. `x` and `y` are CSS pixels, `size` is a share of the whole size.
 *
 * @typedef {{ request: DrawnRequest, x: number, y: number, shape: Shape, size: number }} Mark
 * @typedef {'open' | 'served' | 'refused' | 'failed'} Shape `open`: no outcome yet
 */

/** Heights in the picture, in CSS pixels. requests.css has the same ones. */
export const HEIGHT = 256;
const TOP = 26;
const GATE = 100;
const QUEUE_BOTTOM = 214;
export const ROWS = 7;
/** Between the middles of two neighbours. */
const PITCH = 10.5;
const MARGIN = 10;
/** Of the highest point of a bounce above the limits. */
const BOUNCE = 60;

/** @param {number} width @returns {number} the places of a row of the queue */
export function columnsIn(width) {
  return Math.max(1, Math.floor((width - 2 * MARGIN) / PITCH));
}

/** The requests in motion, the oldest first. @param {RequestsModel} model @param {number} width @param {number} now @returns {Mark[]} */
export function motionMarks(model, width, now) {
  /** @type {Mark[]} */
  const marks = [];
  for (const request of model.requests) {
    const mark = markOf(request, width, model.columns, now);
    if (mark !== undefined) marks.push(mark);
  }
  return marks;
}

/**
 * @param {DrawnRequest} request
 * @param {number} width
 * @param {number} columns
 * @param {number} now
 * @returns {Mark | undefined}
 */
function markOf(request, width, columns, now) {
  const stage = request.stage(now);
  if (stage === 'coming' || stage === 'gone') return undefined;
  const { outAt = now } = request;
  const since = now - outAt;
  if (stage === 'refused') {
    const from = onItsWay(request, width, columns, outAt);
    const part = since / BOUNCE_MS;
    // A parabola to its highest point and half of the way back, to the nearer side.
    const up = 1 - (1 - 1.5 * part) ** 2;
    const aside = (request.across < 0.5 ? -1 : 1) * 16 * part;
    const x = Math.min(width - 4, Math.max(4, from.x + aside));
    return { request, x, y: from.y - BOUNCE * up, shape: 'refused', size: faded(part) };
  }
  if (stage === 'served' || stage === 'failed') {
    const from = onItsWay(request, width, columns, outAt);
    const part = Math.max(0, since - (stage === 'failed' ? TURN_MS : 0)) / LEAVE_MS;
    const y = from.y + (HEIGHT - 6 - from.y) * part ** 1.5;
    return { request, x: from.x, y, shape: stage, size: faded(part) };
  }
  return { request, ...onItsWay(request, width, columns, now), shape: 'open', size: 1 };
}

/** Where it is without an answer. @param {DrawnRequest} request @param {number} width @param {number} columns @param {number} now */
function onItsWay(request, width, columns, now) {
  const x = MARGIN + request.across * (width - 2 * MARGIN);
  if (now < request.gateAt) {
    const part = Math.max(0, now - request.startsAt) / FALL_MS;
    return { x, y: TOP + (GATE - 6 - TOP) * part * part };
  }
  const { row, column } = request.slot ?? { row: 0, column: Math.floor(request.across * columns) };
  const side = (width - columns * PITCH) / 2;
  const to = { x: side + (column + 0.5) * PITCH, y: QUEUE_BOTTOM - (row + 0.5) * PITCH };
  const part = Math.min(1, (now - request.gateAt) / PASS_MS);
  return { x: x + (to.x - x) * part, y: GATE - 6 + (to.y - GATE + 6) * part };
}

/** @param {number} part 0 to 1 */
function faded(part) {
  return part < 0.8 ? 1 : 1 - (part - 0.8) * 2.5;
}

/** Left of the timeline are the names of its rows. */
const GUTTER = 68;
const ROW_OF = { served: 0, refused: 1, failed: 2 };
const ROW_HEIGHT = 70;
const ROWS_TOP = 22;
const COLUMN = 7;
/** Marks above each other. */
const MOST_HIGH = 9;

/**
 * The timeline moves on in steps of half its seconds.
 *
 * @param {number} atMs of the run
 * @param {number} width
 * @returns {{ from: number, seconds: number }} the second at which it begins, and how many it shows
 */
export function timelineSpan(atMs, width) {
  const seconds = width < 420 ? 6 : 12;
  const step = seconds / 2;
  return { from: Math.max(0, (Math.floor(atMs / 1000 / step) - 1) * step), seconds };
}

/**
 * Instead of motion: each answer has a fixed place by its second, in the row of its outcome.
 *
 * @param {RequestsModel} model
 * @param {number} width
 * @param {number} atMs of the run
 * @returns {Mark[]}
 */
export function timelineMarks(model, width, atMs) {
  const columns = Math.max(1, Math.floor((width - GUTTER - 4) / COLUMN));
  const { from, seconds } = timelineSpan(atMs, width);
  /** @type {Record<string, number>} */
  const heights = {};
  /** @type {Mark[]} */
  const marks = [];
  for (const request of model.requests) {
    const { answer } = request;
    const part = answer === undefined ? -1 : (answer.atMs / 1000 - from) / seconds;
    if (answer === undefined || part < 0 || part >= 1) continue;
    const column = Math.floor(part * columns);
    const row = ROW_OF[answer.outcome];
    const height = Math.min(MOST_HIGH - 1, (heights[`${row} ${column}`] ??= 0));
    heights[`${row} ${column}`] = height + 1;
    const y = ROWS_TOP + (row + 1) * ROW_HEIGHT - 6 - height * COLUMN;
    marks.push({ request, x: GUTTER + (column + 0.5) * COLUMN, y, shape: answer.outcome, size: 0.75 });
  }
  return marks;
}

/**
 * @param {readonly Mark[]} marks
 * @param {number} x
 * @param {number} y
 * @param {number} reach in CSS pixels
 * @returns {Mark | undefined}
 */
export function nearest(marks, x, y, reach) {
  /** @type {Mark | undefined} */
  let found;
  let least = reach;
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - x, mark.y - y);
    // The later one of two is drawn above the other.
    if (distance <= least) [found, least] = [mark, distance];
  }
  return found;
}
