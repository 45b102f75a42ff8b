import { colorsOf } from '../../hero/page/colors.js';
import { Picture, planOf } from '../../hero/page/picture.js';
import { onThemeChange } from './theme.js';

/** @typedef {import('../../hero/page/picture.js').Colors} Colors */
/** @typedef {import('../../hero/page/picture.js').Plan} Plan */
/** @typedef {import('../stage/surge-tick.js').Dot} Dot */
/** @typedef {import('../stage/surge-tick.js').DrawnRequests} DrawnRequests */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {{ at: number, text: string }} Mark in seconds of the run */
/** @typedef {readonly [number, number]} Band from one second of the run to another */

/** Answers in this time lie side by side: most people notice no wait. A real answer takes longer than that of a simulation. */
const AT_ONCE_MS = 250;
/** Fewer are no picture. */
const MOST = 8;
/** The part of a picture's height that the time until an answer has. */
const TALL = 0.45;
/** The middle of the words above the picture. */
const WORDS_AT = 7;

/** The simulation's picture, of a run of real processes: of which limits were switched, and Redis was stopped. */
export class RunPicture {
  /** @type {Dot[]} */
  dots = [];
  /** Instants of sending of the requests that wait, by ID. @type {Map<number, number>} */
  open = new Map();
  /** @type {readonly Mark[]} */
  marks = [];
  /** @type {readonly Band[]} */
  bands = [];
  atMs = 0;
  /** @type {Picture | undefined} */
  picture;
  /** @type {import('../../hero/page/picture.js').Axes | undefined} */
  axes;
  /** @type {Colors | undefined} */
  colors;
  /** About how many requests there will be. */
  count = 0;

  /** @param {HTMLCanvasElement} canvas its size is that of its style */
  constructor(canvas) {
    this.canvas = canvas;
    const again = () => this.draw(this.atMs);
    new ResizeObserver(() => {
      this.show();
      again();
    }).observe(canvas);
    onThemeChange(() => {
      this.colors = undefined;
      again();
    });
    document.fonts.addEventListener('loadingdone', again);
  }

  /** @param {SurgeDescription} surge */
  scale({ seconds, patienceMs, dots }) {
    this.axes = { lengthMs: 1000 * seconds, patienceMs, atOnceMs: AT_ONCE_MS };
    this.picture ??= new Picture(this.canvas, this.axes);
    this.count = dots;
  }

  /** Begins a run. @param {readonly Dot[]} dots of a run that is already under way */
  restart(dots = []) {
    this.dots = [...dots];
    this.open.clear();
    this.marks = [];
    this.bands = [];
    this.show();
  }

  /** @param {DrawnRequests} drawn */
  hear({ sent, answered }) {
    for (const [id, atMs] of sent) this.open.set(id, atMs);
    for (const { id, dot } of answered) {
      this.open.delete(id);
      this.dots.push(dot);
    }
    this.show();
  }

  /** What the run has besides requests. @param {readonly Mark[]} marks @param {readonly Band[]} bands */
  annotate(marks, bands) {
    this.marks = marks;
    this.bands = bands;
  }

  show() {
    const answered = this.dots.map(([sentAt, took, outcome]) => ({ sentAt, endedAt: sentAt + took, outcome }));
    const open = Array.from(this.open.values(), (sentAt) => ({ sentAt, endedAt: Infinity, outcome: NEVER }));
    const every = this.every;
    // In the order of the answers, so that each keeps its place.
    const shown = [...answered, ...open].filter(({ sentAt }) => sentAt % every === 0);
    this.picture?.show(shown, this.count / every);
  }

  /** One of so many requests is drawn: a small picture has no room for all. */
  get every() {
    const { axes, count } = this;
    const { clientWidth, clientHeight } = this.canvas;
    if (axes === undefined) return 1;
    for (let every = 1; every < MOST; every++) {
      const { floor, ceiling } = planOf(clientWidth, clientHeight, axes, count / every);
      if (floor - ceiling >= TALL * clientHeight) return every;
    }
    return MOST;
  }

  /** @param {number} atMs milliseconds of the run */
  draw(atMs) {
    this.atMs = atMs;
    this.colors ??= colorsOf(this.canvas.parentElement ?? document.body);
    const plan = this.picture?.draw(atMs, this.colors);
    const context = this.canvas.getContext('2d');
    if (plan !== undefined && context !== null) this.drawEvents(context, plan, this.colors);
  }

  /** @param {CanvasRenderingContext2D} context @param {Plan} plan @param {Colors} colors */
  drawEvents(context, { left, right, floor, x }, { ink, card, family }) {
    const outage = getComputedStyle(this.canvas).getPropertyValue('--outage');
    /** Where the last words end: what has no room beside them has none. */
    let taken = -Infinity;
    context.font = `600 11px ${family}`;
    context.textAlign = 'left';
    const write = (/** @type {string} */ text, /** @type {number} */ at) => {
      const wide = context.measureText(text).width;
      const from = Math.max(left, Math.min(at, right - wide));
      if (from < taken) return;
      context.lineWidth = 4;
      context.strokeStyle = card;
      context.strokeText(text, from, WORDS_AT);
      context.fillStyle = ink;
      context.fillText(text, from, WORDS_AT);
      taken = from + wide + 6;
    };
    const top = 2 * WORDS_AT;
    for (const [from, to] of this.bands) {
      const [begin, end] = [x(1000 * from), x(1000 * to)];
      context.fillStyle = outage;
      context.globalAlpha = 0.18;
      context.fillRect(begin, top, Math.max(2, end - begin), floor - top);
      context.globalAlpha = 1;
      write('Redis is stopped', begin);
    }
    context.setLineDash([4, 3]);
    for (const { at, text } of this.marks) {
      const mark = Math.round(x(1000 * at)) + 0.5;
      context.lineWidth = 1;
      context.strokeStyle = ink;
      context.beginPath();
      context.moveTo(mark, top);
      context.lineTo(mark, floor);
      context.stroke();
      write(text, mark);
    }
    context.setLineDash([]);
  }
}

/** What a request without an answer is, until it has one. @type {import('../stage/surge-tick.js').Outcome} */
const NEVER = 'failed';
