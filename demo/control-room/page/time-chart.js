import { colorOf, onThemeChange } from './colors.js';

/** @typedef {import('../stage/surge-tick.js').Dot} Dot */
/** @typedef {import('../stage/surge-tick.js').DrawnRequests} DrawnRequests */
/** @typedef {import('../stage/surge-tick.js').Outcome} Outcome */
/** @typedef {{ at: number, text: string }} Mark in seconds of the run */
/** @typedef {readonly [number, number]} Band from one second of the run to another */

const MARGIN = { left: 34, right: 8, top: 14, bottom: 20 };
/** What the axis has above the longest wait, so that its dots are whole. */
const HEADROOM = 1.1;
const RADIUS = 1.75;
const SECONDS_STEP = 10;

/**
 * One dot a request: its place is when it was sent, its height the time until its answer. Requests that wait climb. What has its answer
 * is drawn once, on a layer of its own, so that a frame costs what moves and nothing else.
 */
export class TimeChart {
  /** @type {Dot[]} */
  dots = [];
  /** Instants of sending of the requests that wait, by ID. @type {Map<number, number>} */
  open = new Map();
  /** @type {readonly Mark[]} */
  marks = [];
  /** @type {readonly Band[]} */
  bands = [];
  /** Of `dots`, that are on the layer. */
  settled = 0;
  width = 0;
  height = 0;
  seconds = 60;
  topMs = 3000;
  layer = document.createElement('canvas');
  /** @type {Record<Outcome | 'line' | 'muted' | 'ink' | 'outage' | 'outageText' | 'font', string> | undefined} */
  look;

  /** @param {HTMLCanvasElement} canvas its size is that of its style */
  constructor(canvas) {
    this.canvas = canvas;
    new ResizeObserver(([entry]) => {
      if (entry !== undefined) this.resize(entry.contentRect);
    }).observe(canvas);
    onThemeChange(() => {
      this.look = undefined;
      this.again();
    });
    document.fonts.addEventListener('loadingdone', () => this.again());
  }

  /** @param {{ seconds: number, patienceMs: number }} axes */
  scale({ seconds, patienceMs }) {
    if (this.seconds === seconds && this.topMs === patienceMs) return;
    this.seconds = seconds;
    this.topMs = patienceMs;
    this.again();
  }

  /** Begins a run. @param {readonly Dot[]} dots of a run that is already under way */
  restart(dots = []) {
    this.dots = [...dots];
    this.open.clear();
    this.marks = [];
    this.bands = [];
    this.again();
  }

  /** @param {DrawnRequests} drawn */
  hear({ sent, answered }) {
    for (const [id, atMs] of sent) this.open.set(id, atMs);
    for (const { id, dot } of answered) {
      this.open.delete(id);
      this.dots.push(dot);
    }
  }

  /** What the run has besides requests. @param {readonly Mark[]} marks @param {readonly Band[]} bands */
  annotate(marks, bands) {
    const same = JSON.stringify([marks, bands]) === JSON.stringify([this.marks, this.bands]);
    if (same) return;
    this.marks = marks;
    this.bands = bands;
    this.again();
  }

  /** @param {{ width: number, height: number }} size */
  resize({ width, height }) {
    this.width = width;
    this.height = height;
    this.again();
  }

  /** Draws the layer again, with all that it has. */
  again() {
    this.settled = 0;
    const ratio = devicePixelRatio;
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
    }
    this.draw(this.atMs);
  }

  atMs = 0;

  /** @param {number} atMs milliseconds of the run */
  draw(atMs) {
    this.atMs = atMs;
    if (this.width === 0 || this.canvas.width === 0) return;
    this.settle();
    const context = contextOf(this.canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.layer, 0, 0);
    if (this.open.size === 0) return;
    context.scale(devicePixelRatio, devicePixelRatio);
    context.strokeStyle = this.colors.ink;
    context.lineWidth = 1.25;
    context.beginPath();
    for (const sentMs of this.open.values()) {
      const [x, y] = [this.x(sentMs), this.y(Math.max(0, atMs - sentMs))];
      context.moveTo(x + RADIUS + 0.5, y);
      context.arc(x, y, RADIUS + 0.5, 0, 2 * Math.PI);
    }
    context.stroke();
  }

  /** Adds the answers since the last time to the layer. */
  settle() {
    const context = contextOf(this.layer);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    if (this.settled === 0) this.axes(context);
    const { colors } = this;
    for (const outcome of /** @type {const} */ (['refused', 'served', 'failed'])) {
      context.fillStyle = context.strokeStyle = colors[outcome];
      context.lineWidth = outcome === 'failed' ? 1.5 : 1;
      context.beginPath();
      for (let i = this.settled; i < this.dots.length; i++) {
        const [atMs, tookMs, kind] = /** @type {Dot} */ (this.dots[i]);
        if (kind === outcome) mark(context, kind, this.x(atMs), this.y(tookMs));
      }
      if (outcome === 'served') context.fill();
      else context.stroke();
    }
    this.settled = this.dots.length;
  }

  /** @param {CanvasRenderingContext2D} context */
  axes(context) {
    const { colors, width, height } = this;
    context.clearRect(0, 0, width, height);
    /** Where the last label above the chart ends: what has no room beside it has none. */
    let taken = -Infinity;
    const label = (/** @type {string} */ text, /** @type {number} */ at) => {
      const wide = context.measureText(text).width;
      const left = Math.min(at, width - wide);
      if (left < taken) return;
      context.textAlign = 'left';
      context.fillText(text, left, MARGIN.top - 3);
      taken = left + wide + 6;
    };
    context.font = `12px ${colors.font}`;
    context.lineWidth = 1;
    const bottom = height - MARGIN.bottom;
    for (const [from, to] of this.bands) {
      const [left, right] = [this.x(1000 * from), this.x(1000 * to)];
      context.globalAlpha = 0.18;
      context.fillStyle = colors.outage;
      context.fillRect(left, MARGIN.top, Math.max(2, right - left), bottom - MARGIN.top);
      context.globalAlpha = 1;
      context.fillRect(left, MARGIN.top, Math.max(2, right - left), 3);
      context.fillStyle = colors.outageText;
      label('Redis is stopped', left);
    }
    context.fillStyle = colors.muted;
    context.strokeStyle = colors.line;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.beginPath();
    for (let second = 0; 1000 * second <= this.topMs; second++) {
      const y = Math.round(this.y(1000 * second)) + 0.5;
      context.moveTo(MARGIN.left, y);
      context.lineTo(width - MARGIN.right, y);
      context.fillText(second === 0 ? '0' : `${second} s`, MARGIN.left - 6, y);
    }
    context.stroke();
    context.textBaseline = 'alphabetic';
    context.textAlign = 'center';
    for (let second = SECONDS_STEP; second <= this.seconds; second += SECONDS_STEP) {
      context.textAlign = second === this.seconds ? 'right' : 'center';
      context.fillText(`${second} s`, this.x(1000 * second) + (second === this.seconds ? MARGIN.right : 0), height - 5);
    }
    context.textAlign = 'left';
    context.fillText('sent at', MARGIN.left, height - 5);
    context.strokeStyle = context.fillStyle = colors.ink;
    context.setLineDash([4, 3]);
    context.beginPath();
    for (const { at, text } of this.marks) {
      const x = Math.round(this.x(1000 * at)) + 0.5;
      context.moveTo(x, MARGIN.top);
      context.lineTo(x, bottom);
      label(text, x);
    }
    context.stroke();
    context.setLineDash([]);
  }

  get colors() {
    this.look ??= {
      served: colorOf('--served'),
      refused: colorOf('--refused-text'),
      failed: colorOf('--failed'),
      ink: colorOf('--ink'),
      muted: colorOf('--muted'),
      line: colorOf('--line'),
      outage: colorOf('--outage'),
      outageText: colorOf('--outage-text'),
      font: getComputedStyle(document.body).fontFamily,
    };
    return this.look;
  }

  /** @param {number} ms of the run */
  x(ms) {
    const { left, right } = MARGIN;
    return left + 6 + (ms / (1000 * this.seconds)) * (this.width - left - right - 12);
  }

  /** @param {number} ms until the answer */
  y(ms) {
    const { top, bottom } = MARGIN;
    const high = this.height - top - bottom - 4;
    return top + high - Math.min(1, ms / (HEADROOM * this.topMs)) * high;
  }
}

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
}

/** Shapes differ, so that a colour does not carry a meaning alone. @param {CanvasRenderingContext2D} context @param {Outcome} outcome @param {number} x @param {number} y */
function mark(context, outcome, x, y) {
  if (outcome === 'failed') {
    const r = RADIUS + 0.5;
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x - r, y + r);
    context.lineTo(x + r, y - r);
  } else if (outcome === 'refused') {
    context.rect(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS);
  } else {
    context.moveTo(x + RADIUS, y);
    context.arc(x, y, RADIUS, 0, 2 * Math.PI);
  }
}
