import { CITY } from '../model/city.js';

/** @typedef {import('../model/rush.js').Request} Request */
/** @typedef {import('../model/rush.js').Outcome} Outcome */
/** @typedef {Readonly<Record<Outcome | 'ink' | 'muted' | 'line' | 'card' | 'servedText' | 'failedText' | 'family', string>>} Colors */
/** @typedef {{ readonly request: Request, readonly column: number, readonly x: number, readonly y: number }} Place */
/** @typedef {Place & { readonly from: { readonly x: number, readonly y: number } }} Dot */

/** Answers within this time lie on the floor, side by side. Milliseconds. */
const AT_ONCE_MS = 80;
/** The time in which a dot settles in its place. */
export const SETTLE_MS = 250;
/** Dots that climb together spread over so many rooms, so that each is seen. Only their height has a meaning. */
const SPREAD = 4;
const AXIS = 20;
const GAP = 5;
const NARROW = 480;
/** The width of a word. */
const WAITING = 60;
/** The part of a golden section: its multiples are spread evenly. */
const GOLDEN = 0.618034;

/**
 * Where the time until an answer lies, in CSS pixels.
 *
 * @typedef {object} Plan
 * @property {number} cell the room of a dot
 * @property {number} left
 * @property {number} right
 * @property {number} ceiling where a rider gives up
 * @property {number} floor where an answer comes at once
 * @property {(waitedMs: number) => number} y
 */

/**
 * @param {number} width
 * @param {number} height
 * @returns {Plan}
 */
function planOf(width, height) {
  const isNarrow = width < NARROW;
  const left = isNarrow ? 58 : 76;
  const right = width - 2;
  const cell = width < 380 ? 2.5 : isNarrow ? 3.25 : width < 560 ? 4 : 5;
  const columns = Math.floor((right - left) / cell);
  const perColumn = (CITY.demand * CITY.rushMs) / 1000 / columns;
  // Riders do not come evenly to the pixel.
  const ceiling = Math.ceil(perColumn + 3) * cell + GAP;
  const floor = height - AXIS - Math.ceil(perColumn + 1) * cell - GAP;
  return { cell, left, right, ceiling, floor, y: (ms) => floor - (ms / CITY.patienceMs) * (floor - ceiling) };
}

/**
 * A dot for each request, with its last place. Dots of the same place lie beside each other: failed ones above the ceiling, refused
 * ones below the floor, and those that were served at once on it.
 *
 * @param {readonly Request[]} requests
 * @param {Plan} plan
 * @returns {readonly Dot[]}
 */
function dotsOf(requests, { cell, left, right, ceiling, floor, y }) {
  /** @type {Map<string, number>} */
  const rows = new Map();
  const columns = Math.floor((right - left) / cell);
  return requests.map((request, i) => {
    const { sentAt, endedAt, outcome } = request;
    const column = Math.min(columns - 1, Math.floor((sentAt / CITY.rushMs) * columns));
    const spread = ((i * GOLDEN) % 1) - 0.5;
    const from = {
      x: Math.max(left + cell / 2, left + (sentAt / CITY.rushMs) * columns * cell + spread * SPREAD * cell),
      y: y(endedAt - sentAt),
    };
    if (outcome === 'served' && endedAt - sentAt > AT_ONCE_MS) return { request, column, from, ...from };
    const place = `${outcome} ${column}`;
    const row = rows.get(place) ?? 0;
    rows.set(place, row + 1);
    const away = GAP / 2 + (row + 0.5) * cell;
    const edge = outcome === 'failed' ? ceiling : floor;
    const x = left + (column + 0.5) * cell;
    return { request, column, from, x, y: outcome === 'refused' ? edge + away : edge - away };
  });
}

/** One world in time: each dot is a request, from left to right as they were sent, as high as its rider has waited. */
export class Picture {
  #canvas;
  #requests;
  /** @type {{ width: number, height: number, plan: Plan, dots: readonly Dot[] } | undefined} */
  #layout;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {readonly Request[]} requests
   */
  constructor(canvas, requests) {
    this.#canvas = canvas;
    this.#requests = requests;
  }

  /**
   * @param {number} now milliseconds since the rush began
   * @param {Colors} colors
   */
  draw(now, colors) {
    const canvas = this.#canvas;
    const { clientWidth: width, clientHeight: height } = canvas;
    const context = canvas.getContext('2d');
    if (context === null || width === 0 || height === 0) return;
    const scale = Math.max(2, devicePixelRatio);
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.#layout?.width !== width || this.#layout.height !== height) {
      const plan = planOf(width, height);
      this.#layout = { width, height, plan, dots: dotsOf(this.#requests, plan) };
    }
    const { plan, dots } = this.#layout;
    drawAxes(context, plan, height, colors);
    drawDots(context, plan, dots, now, colors);
    drawWords(context, plan, dots, now, height, colors);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Plan} plan
 * @param {number} height
 * @param {Colors} colors
 */
function drawAxes(context, { left, right, y }, height, colors) {
  const [size, bold] = left < 60 ? [10.5, ''] : [12.5, '600'];
  const write = (/** @type {string} */ text, /** @type {number} */ at, weight = '') => {
    context.font = `${weight} ${size}px ${colors.family}`;
    context.fillText(text, left - 8, at);
  };
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.lineWidth = 1;
  for (const seconds of [0, 1, 2, 3]) {
    const at = Math.round(y(1000 * seconds)) + 0.5;
    const isEdge = seconds % 3 === 0;
    context.strokeStyle = isEdge ? colors.muted : colors.line;
    context.setLineDash(isEdge ? [] : [2, 4]);
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(right, at);
    context.stroke();
    context.fillStyle = isEdge ? colors.ink : colors.muted;
    const words = seconds === 0 ? ['answered', 'at once'] : seconds === 3 ? ['3 s:', 'gives up'] : [`${seconds} s`];
    const first = at - ((words.length - 1) / 2) * (size + 1);
    words.forEach((word, i) => write(word, first + i * (size + 1), isEdge ? bold : ''));
  }
  context.setLineDash([]);
  context.textAlign = 'left';
  context.fillStyle = colors.muted;
  context.font = `${size}px ${colors.family}`;
  context.fillText('the rush begins →', left, height - AXIS / 2 + 1);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Plan} plan
 * @param {readonly Dot[]} dots
 * @param {number} now
 * @param {Colors} colors
 */
function drawDots(context, { cell, left, floor, y }, dots, now, colors) {
  const paths = { served: new Path2D(), refused: new Path2D(), failed: new Path2D(), waiting: new Path2D() };
  const radius = cell * 0.4;
  /** @type {Map<number, { top: number, kind: keyof typeof paths }>} */
  const tops = new Map();
  for (const { request, column, from, x, y: end } of dots) {
    const { sentAt, endedAt, outcome } = request;
    if (sentAt > now) break;
    const kind = endedAt > now ? 'waiting' : outcome;
    const part = Math.min(1, Math.max(0, (now - endedAt) / SETTLE_MS));
    const settled = part * (2 - part);
    const waited = y(Math.min(now, endedAt) - sentAt);
    if (kind !== 'refused' && waited < (tops.get(column)?.top ?? floor)) tops.set(column, { top: waited, kind });
    const [atX, atY] = [from.x + (x - from.x) * settled, waited + (end - from.y) * settled];
    mark(paths[kind], kind, atX, atY, radius);
  }
  // The time that riders wait, as an area.
  context.globalAlpha = 0.13;
  for (const [column, { top, kind }] of tops) {
    context.fillStyle = kind === 'waiting' ? colors.muted : colors[kind];
    context.fillRect(left + column * cell, top, cell, floor - top);
  }
  context.globalAlpha = 1;
  context.fillStyle = colors.ink;
  context.fill(paths.waiting);
  context.fillStyle = colors.served;
  context.fill(paths.served);
  context.lineWidth = cell * 0.2;
  context.strokeStyle = colors.refused;
  context.stroke(paths.refused);
  context.lineWidth = cell * 0.28;
  context.strokeStyle = colors.failed;
  context.stroke(paths.failed);
}

/**
 * A failed request is a cross, a refused one a ring, a served one a disc, a waiting one a small disc.
 *
 * @param {Path2D} path
 * @param {Outcome | 'waiting'} kind
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function mark(path, kind, x, y, radius) {
  if (kind === 'failed') {
    const arm = radius * 0.85;
    path.moveTo(x - arm, y - arm);
    path.lineTo(x + arm, y + arm);
    path.moveTo(x + arm, y - arm);
    path.lineTo(x - arm, y + arm);
  } else {
    const size = kind === 'served' ? radius : radius * 0.8;
    path.moveTo(x + size, y);
    path.arc(x, y, size, 0, 2 * Math.PI);
  }
}

/**
 * Says what the dots are, where the first of them are.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Plan} plan
 * @param {readonly Dot[]} dots
 * @param {number} now
 * @param {number} height
 * @param {Colors} colors
 */
function drawWords(context, { cell, left, right, ceiling, floor, y }, dots, now, height, colors) {
  const has = (/** @type {Outcome} */ outcome) =>
    dots.some(({ request }) => request.outcome === outcome && request.endedAt + SETTLE_MS <= now);
  const isNarrow = left < 60;
  const write = (/** @type {string} */ text, /** @type {string} */ color, /** @type {number} */ at, x = right) => {
    context.strokeStyle = colors.card;
    context.strokeText(text, x, at);
    context.fillStyle = color;
    context.fillText(text, x, at);
  };
  context.font = `600 ${isNarrow ? 12 : 14}px ${colors.family}`;
  context.textAlign = 'right';
  context.lineWidth = 4;
  context.lineJoin = 'round';
  // Beside those who have waited for half of their patience, as long as there is room.
  const longest = dots.find(({ request }) => request.endedAt > now)?.request.sentAt ?? now;
  const half = CITY.patienceMs / 2;
  const x = left + ((now - half) / CITY.rushMs) * (right - left) + SPREAD * cell;
  if (now - longest >= half && x + WAITING < right) {
    context.textAlign = 'left';
    write('waiting', colors.ink, y(half), x);
    context.textAlign = 'right';
  }
  if (has('failed')) write(isNarrow ? 'gave up' : 'gave up without a ride', colors.failedText, ceiling + 16);
  if (!has('refused')) return;
  write(isNarrow ? 'told “not now”' : 'told “not now” in milliseconds', colors.refused, height - AXIS / 2 + 1);
  write('got a ride', colors.servedText, floor - 4 * cell - 10);
}
