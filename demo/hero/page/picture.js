/** @typedef {import('../model/rush.js').Request} Request */
/** @typedef {import('../model/rush.js').Outcome} Outcome */
/** @typedef {Outcome | 'waiting'} Kind */
/** @typedef {Readonly<Record<Outcome | 'ink' | 'muted' | 'line' | 'card' | 'servedText' | 'failedText' | 'family', string>>} Colors */
/**
 * How long the requests come, and how long a rider waits, in milliseconds. Answers within `atOnceMs` lie side by side.
 *
 * @typedef {{ readonly lengthMs: number, readonly patienceMs: number, readonly atOnceMs: number }} Axes
 */
/** @typedef {{ readonly request: Request, readonly column: number, readonly x: number, readonly y: number }} Place */
/** @typedef {Place & { readonly from: { readonly x: number, readonly y: number } }} Dot */

/** The time in which a dot settles in its place. */
export const SETTLE_MS = 250;
/** Dots that climb together spread over so many rooms, so that each is seen. Only their height has a meaning. */
const SPREAD = 4;
const AXIS = 20;
const GAP = 5;
const NARROW = 480;
/** The rooms of a dot in CSS pixels, best first: the first that leaves half of the height to the time until an answer. */
const CELLS = /** @type {const} */ ([5, 4, 3.25, 2.5]);
/** The middle of the word for riders who gave up, below the ceiling. */
const FAILED_BELOW = 16;
/** Half of the height of a word. */
const WORD_HALF = 8;
const BEGIN = 'the rush begins →';
/** A rider gives up after this part of the patience, and no sooner: instants are rounded. */
const GAVE_UP = 0.999;
/** The room of the mark before a word. */
const MARK = 14;
/** The part of a golden section: its multiples are spread evenly. */
const GOLDEN = 0.618034;
/** In the order of drawing. */
const KINDS = /** @type {const} */ (['waiting', 'served', 'refused', 'failed']);

/**
 * Where the time until an answer lies, in CSS pixels.
 *
 * @typedef {object} Plan
 * @property {Axes} axes
 * @property {number} cell the room of a dot
 * @property {number} left
 * @property {number} right
 * @property {number} ceiling where a rider gives up
 * @property {number} floor where an answer comes at once
 * @property {(sentAtMs: number) => number} x
 * @property {(waitedMs: number) => number} y
 */

/**
 * @param {number} width
 * @param {number} height
 * @param {Axes} axes
 * @param {number} count how many requests there will be
 * @returns {Plan}
 */
export function planOf(width, height, axes, count) {
  const left = width < NARROW ? 58 : 76;
  const plans = CELLS.map((cell) => planWith(cell, left, width - 2, height, axes, count));
  return plans.find(({ ceiling, floor }) => floor - ceiling >= height / 2) ?? /** @type {Plan} */ (plans.at(-1));
}

/**
 * @param {number} cell
 * @param {number} left
 * @param {number} right
 * @param {number} height
 * @param {Axes} axes
 * @param {number} count
 * @returns {Plan}
 */
function planWith(cell, left, right, height, axes, count) {
  const columns = Math.floor((right - left) / cell);
  const perColumn = count / columns;
  // Riders do not come evenly to the pixel.
  const ceiling = Math.ceil(perColumn + 3) * cell + GAP;
  const floor = height - AXIS - Math.ceil(perColumn + 1) * cell - GAP;
  const x = (/** @type {number} */ ms) => left + (ms / axes.lengthMs) * (right - left);
  const y = (/** @type {number} */ ms) => floor - (ms / axes.patienceMs) * (floor - ceiling);
  return { axes, cell, left, right, ceiling, floor, x, y };
}

/**
 * The words of the axis. Those between its ends have a place only where they do not meet the others.
 *
 * @param {Plan} plan
 * @returns {readonly { seconds: number, words: readonly string[], size: number, top: number, bottom: number }[]}
 */
export function labelsOf({ left, y }) {
  const size = left < 60 ? 10.5 : 12.5;
  const label = (/** @type {number} */ seconds, /** @type {readonly string[]} */ ...words) => {
    const half = (words.length * (size + 1)) / 2;
    const at = y(1000 * seconds);
    return { seconds, words, size, top: at - half, bottom: at + half };
  };
  const ends = [label(0, 'answered', 'at once'), label(3, '3 s:', 'gives up')];
  const between = [label(1, '1 s'), label(2, '2 s')];
  const meet = between.some(({ top, bottom }) => ends.some((end) => top < end.bottom && end.top < bottom));
  return meet ? ends : [...ends, ...between];
}

/**
 * A dot for each request, with its last place. Dots of the same place lie beside each other: riders who gave up above the ceiling, requests
 * that were refused or failed at once below the floor, and those that were served at once on it. A later answer stays where it is.
 *
 * @param {readonly Request[]} requests with an `endedAt` of Infinity: it waits
 * @param {Plan} plan
 * @returns {readonly Dot[]}
 */
function dotsOf(requests, { axes, cell, left, right, ceiling, floor, y }) {
  /** @type {Map<string, number>} */
  const rows = new Map();
  const columns = Math.floor((right - left) / cell);
  return requests.map((request) => {
    const { sentAt, endedAt, outcome } = request;
    const column = Math.min(columns - 1, Math.floor((sentAt / axes.lengthMs) * columns));
    const spread = ((Math.round(sentAt) * GOLDEN) % 1) - 0.5;
    const took = endedAt - sentAt;
    const waits = endedAt === Infinity;
    const from = {
      x: Math.max(left + cell / 2, left + (sentAt / axes.lengthMs) * columns * cell + spread * SPREAD * cell),
      y: y(waits ? 0 : took),
    };
    const gaveUp = outcome === 'failed' && took >= GAVE_UP * axes.patienceMs;
    if (waits || (!gaveUp && took > axes.atOnceMs)) return { request, column, from, ...from };
    const edge = gaveUp ? 'ceiling' : outcome === 'served' ? 'floor' : 'below';
    const place = `${edge} ${column}`;
    const row = rows.get(place) ?? 0;
    rows.set(place, row + 1);
    const away = GAP / 2 + (row + 0.5) * cell;
    const x = left + (column + 0.5) * cell;
    return { request, column, from, x, y: gaveUp ? ceiling - away : edge === 'below' ? floor + away : floor - away };
  });
}

/**
 * Where the word for riders who gave up ends: at the right, and while those who wait are there, before them.
 *
 * @param {Plan} plan
 * @param {number} longest when the request was sent that waits longest
 * @param {number} width of the word with its mark
 * @returns {number}
 */
export function failedWordEnd({ axes, cell, left, right, ceiling, floor, x: xOf }, longest, width) {
  const x = xOf(longest);
  // Dots as high as the word is, and as wide as they spread.
  const among = ((FAILED_BELOW + WORD_HALF) / (floor - ceiling)) * (axes.patienceMs / axes.lengthMs) * (right - left);
  const beside = x + among + SPREAD * cell + width;
  return beside <= right ? right : Math.max(left + width, Math.min(right, x - SPREAD * cell));
}

/** One world in time: each dot is a request, from left to right as they were sent, as high as its rider has waited. */
export class Picture {
  #canvas;
  #axes;
  /** @type {readonly Request[]} */
  #requests = [];
  #count = 0;
  /** @type {{ width: number, height: number, plan: Plan } | undefined} */
  #size;
  /** @type {readonly Dot[] | undefined} */
  #dots;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Axes} axes
   */
  constructor(canvas, axes) {
    this.#canvas = canvas;
    this.#axes = axes;
  }

  /**
   * @param {readonly Request[]} requests
   * @param {number} [count] how many there will be; default: these
   */
  show(requests, count = requests.length) {
    this.#requests = requests;
    this.#dots = undefined;
    if (count !== this.#count) this.#size = undefined;
    this.#count = count;
  }

  /**
   * @param {number} now milliseconds since the rush began
   * @param {Colors} colors
   * @returns {Plan | undefined} of what it has drawn; undefined: the canvas has no size
   */
  draw(now, colors) {
    const canvas = this.#canvas;
    const { clientWidth: width, clientHeight: height } = canvas;
    const context = canvas.getContext('2d');
    if (context === null || width === 0 || height === 0) return undefined;
    const scale = Math.max(2, devicePixelRatio);
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.#size?.width !== width || this.#size.height !== height) {
      this.#size = { width, height, plan: planOf(width, height, this.#axes, this.#count) };
      this.#dots = undefined;
    }
    const { plan } = this.#size;
    this.#dots ??= dotsOf(this.#requests, plan);
    drawAxes(context, plan, height, colors);
    drawDots(context, plan, this.#dots, now, colors);
    drawWords(context, plan, this.#dots, now, height, colors);
    return plan;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Plan} plan
 * @param {number} height
 * @param {Colors} colors
 */
function drawAxes(context, plan, height, colors) {
  const { left, right, y } = plan;
  const labels = labelsOf(plan);
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
    const label = labels.find((one) => one.seconds === seconds);
    if (label === undefined) continue;
    context.font = `${isEdge && left > 60 ? 600 : 400} ${label.size}px ${colors.family}`;
    label.words.forEach((word, i) => context.fillText(word, left - 8, label.top + (i + 0.5) * (label.size + 1)));
  }
  context.setLineDash([]);
  context.textAlign = 'left';
  context.fillStyle = colors.muted;
  context.font = `${left < 60 ? 10.5 : 12.5}px ${colors.family}`;
  context.fillText(BEGIN, left, height - AXIS / 2 + 1);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Plan} plan
 * @param {readonly Dot[]} dots
 * @param {number} now
 * @param {Colors} colors
 */
function drawDots(context, { cell, left, floor, y }, dots, now, colors) {
  /** @type {Readonly<Record<Kind, Path2D>>} */
  const paths = { served: new Path2D(), refused: new Path2D(), failed: new Path2D(), waiting: new Path2D() };
  const radius = cell * 0.4;
  /** @type {Map<number, { top: number, kind: Kind }>} */
  const tops = new Map();
  for (const { request, column, from, x, y: end } of dots) {
    const { sentAt, endedAt, outcome } = request;
    if (sentAt > now) continue;
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
  for (const kind of KINDS) paint(context, paths[kind], kind, cell, colors);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Path2D} path
 * @param {Kind} kind
 * @param {number} cell
 * @param {Colors} colors
 */
function paint(context, path, kind, cell, colors) {
  context.fillStyle = context.strokeStyle = kind === 'waiting' ? colors.ink : colors[kind];
  context.lineWidth = cell * (kind === 'failed' ? 0.28 : 0.2);
  if (kind === 'served') context.fill(path);
  else context.stroke(path);
}

/**
 * A served request is a disc, a waiting one a ring, one that was told “not now” a square, and a failed one a cross, as in the control room
 * and in the playground.
 *
 * @param {Path2D} path
 * @param {Kind} kind
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
  } else if (kind === 'refused') {
    const half = radius * 0.75;
    path.rect(x - half, y - half, 2 * half, 2 * half);
  } else {
    const size = kind === 'served' ? radius : radius * 0.9;
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
function drawWords(context, plan, dots, now, height, colors) {
  const { axes, cell, left, right, ceiling, floor, x: xOf, y } = plan;
  /** @param {Outcome} outcome @param {number} [from] milliseconds until the answer @param {number} [to] */
  const has = (outcome, from = 0, to = Infinity) =>
    dots.some(({ request }) => {
      const took = request.endedAt - request.sentAt;
      return request.outcome === outcome && request.endedAt + SETTLE_MS <= now && took >= from && took <= to;
    });
  const isNarrow = left < 60;
  // Each word has its mark before it, so that the words are the legend.
  const widthOf = (/** @type {string} */ text) => MARK + context.measureText(text).width;
  const write = (/** @type {string} */ text, /** @type {Kind} */ kind, /** @type {number} */ at, end = right) => {
    const x = end - widthOf(text) + MARK;
    context.lineWidth = 4;
    context.strokeStyle = colors.card;
    context.strokeText(text, x, at);
    context.fillStyle = context.strokeStyle;
    context.fillRect(x - MARK, at - MARK / 2, MARK, MARK);
    context.fillStyle = {
      served: colors.servedText,
      refused: colors.refused,
      failed: colors.failedText,
      waiting: colors.ink,
    }[kind];
    context.fillText(text, x, at);
    const path = new Path2D();
    mark(path, kind, x - MARK / 2 - 1, at - 0.5, MARK / 4);
    paint(context, path, kind, MARK / 2, colors);
  };
  context.font = `600 ${isNarrow ? 12 : 14}px ${colors.family}`;
  context.textAlign = 'left';
  context.lineJoin = 'round';
  // Beside those who have waited for half of their patience, as long as there is room.
  const longest = dots.find(({ request }) => request.endedAt > now)?.request.sentAt ?? now;
  const half = axes.patienceMs / 2;
  const end = xOf(now - half) + SPREAD * cell + widthOf('waiting');
  if (now - longest >= half && end < right) write('waiting', 'waiting', y(half), end);
  const below = height - AXIS / 2 + 1;
  const hasErrors = has('failed', 0, axes.atOnceMs);
  if (has('failed', GAVE_UP * axes.patienceMs)) {
    const gaveUp = isNarrow ? 'gave up' : 'gave up without a ride';
    write(gaveUp, 'failed', ceiling + FAILED_BELOW, failedWordEnd(plan, longest, widthOf(gaveUp)));
    // Why nobody else gets a ride: the queue is longer than the riders' patience.
    const why = isNarrow ? 'answers come too late' : 'the service works for riders who have left';
    const from = right - context.measureText(why).width;
    context.fillStyle = colors.ink;
    // The words for those who were told “not now” stand there, too.
    if (!has('refused') && !hasErrors && from > left + widthOf(BEGIN)) context.fillText(why, from, below);
  }
  if (!has('refused')) {
    if (hasErrors) write('error: the queue is full', 'failed', below);
    return;
  }
  write(isNarrow ? 'told “not now”' : 'told “not now” in milliseconds', 'refused', below);
  if (!has('failed')) write('got a ride', 'served', floor - 4 * cell - 10);
}
