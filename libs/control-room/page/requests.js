import { make, say, shown } from './dom.js';
import { Card, sentenceOf } from './requests-card.js';
import { listen, MOST_OPTIONS } from './requests-input.js';
import { columnsIn, HEIGHT, motionMarks, ROWS, timelineMarks, timelineSpan } from './requests-layout.js';
import { RequestsModel } from './requests-model.js';
import { Painter, readColors } from './requests-paint.js';
import { ticker } from './requests-ticker.js';
import { viewOf } from './requests-view.js';

/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */
/** @typedef {import('./requests-layout.js').Mark} Mark */

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const THEMES = ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)'];

/** Time to move the pointer from a request to its card. */
const GRACE_MS = 250;
/** The clock of the run is the furthest of this many ticks: the one that was delayed least. */
const CLOCK_TICKS = 20;
/** Without motion the picture changes at most this often. */
const CALM_MS = 1000;

/**
 * The requests of one world, drawn one by one. The picture draws itself between two ticks. It stands still while a card is open.
 *
 * @example
 * const requests = new Requests(place, { title: 'Without limits' });
 * requests.hear(tick.surge.worlds.left, tick.surge.atMs);
 */
export class Requests {
  model = new RequestsModel();
  card = new Card();
  /** Of the picture as it is painted. @type {Mark[]} */
  marks = [];
  /** The request with the card, and how it was chosen. @type {{ mark: Mark, by: 'pointer' | 'touch' | 'keyboard' } | undefined} */
  chosen;
  /** What the arrow keys walk over, newest first. @type {Mark[]} */
  options = [];
  /** Milliseconds from the page's clock to the clock of the run, at the last ticks. @type {number[]} */
  aheads = [];
  lastAtMs = -Infinity;
  paintedAt = -Infinity;
  isVisible = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  grace;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  calmTimer;

  /**
   * @param {HTMLElement} place is filled
   * @param {{ title: string }} options
   */
  constructor(place, { title }) {
    this.view = viewOf(title, this.card.element);
    place.replaceChildren(this.view.element);
    this.painter = new Painter(this.view.canvas, readColors(this.view.element));
    this.frame = () => this.animate();
    this.restart();
    this.observe();
    listen(this);
  }

  /** Forgets all requests: a new run begins, or the connection is new. */
  restart() {
    this.model.clear();
    this.aheads = [];
    this.lastAtMs = -Infinity;
    this.view.idle.hidden = false;
    say(this.view.share, '');
    say(this.view.followed, '');
    say(this.view.waiting, '');
    this.release();
  }

  /**
   * @param {WorldTick} tick
   * @param {number} atMs of the run, by the server's clock
   */
  hear(tick, atMs) {
    const now = performance.now();
    if (atMs < this.lastAtMs) this.restart(); // another run
    this.lastAtMs = atMs;
    this.aheads.push(atMs - now);
    if (this.aheads.length > CLOCK_TICKS) this.aheads.shift();
    this.model.hear(tick.drawn, this.ahead, now);
    this.tell(tick);
    if (this.chosen !== undefined) this.card.fill(this.chosen.mark.request);
    this.wake();
  }

  /** Draws one moment. The page need not call it. @param {number} atMs of the run, by the server's clock */
  draw(atMs) {
    this.paint(atMs - this.ahead);
  }

  get ahead() {
    return Math.max(...this.aheads, this.aheads.length === 0 ? 0 : -Infinity);
  }

  /** @param {WorldTick} tick */
  tell({ sample, drawn, followed }) {
    const { view } = this;
    if (this.model.requests.length > 0) view.idle.hidden = true;
    say(view.share, drawn.oneOf > 1 ? `1 of ${shown(drawn.oneOf)} requests drawn` : '');
    say(view.followed, `${followed.id}, followed`);
    say(view.limits, sample.enforced ? 'limits' : 'no limits');
    say(view.waiting, `${shown(sample.waiting)} waiting`);
    view.picture.toggleAttribute('data-open', !sample.enforced);
    view.picture.toggleAttribute('data-fallback', sample.decider === 'fallback');
  }

  wake() {
    if (!this.isVisible || this.chosen !== undefined) return;
    if (!calm.matches) ticker.wake(this.frame);
    else this.calmTimer ??= setTimeout(() => this.paintCalmly(), this.paintedAt + CALM_MS - performance.now());
  }

  paintCalmly() {
    this.calmTimer = undefined;
    if (this.isVisible && this.chosen === undefined) this.paint(performance.now());
  }

  /** @returns {boolean} whether the picture moves */
  animate() {
    if (!this.isVisible || this.chosen !== undefined || calm.matches) return false;
    const now = performance.now();
    this.paint(now);
    return this.model.isBusy(now);
  }

  /** @param {number} now by the page's clock */
  paint(now) {
    this.paintedAt = now;
    if (this.chosen === undefined) this.marks = this.marksAt(now);
    this.painter.paint(this.marks, this.chosen?.mark);
  }

  /** @param {number} now */
  marksAt(now) {
    const { width } = this.painter;
    if (calm.matches) {
      const atMs = Math.max(0, this.lastAtMs);
      const { from, seconds } = timelineSpan(atMs, width);
      for (const [i, label] of this.view.axis.entries()) say(label, `${from + (i * seconds) / 2} s`);
      return timelineMarks(this.model, width, atMs);
    }
    this.model.advance(now);
    return motionMarks(this.model, width, now);
  }

  observe() {
    const { picture } = this.view;
    new ResizeObserver(() => {
      const width = picture.clientWidth;
      if (width === this.painter.width) return;
      this.painter.resize(width, HEIGHT);
      this.model.resize(columnsIn(width), ROWS);
      this.release();
    }).observe(picture);
    new IntersectionObserver(([entry]) => {
      this.isVisible = entry?.isIntersecting ?? false;
      this.wake();
    }).observe(picture);
    const choose = () => {
      this.view.element.toggleAttribute('data-calm', calm.matches);
      this.release();
    };
    calm.addEventListener('change', choose);
    choose();
    for (const theme of THEMES) {
      matchMedia(theme).addEventListener('change', () => {
        this.painter.recolor(readColors(this.view.element));
        this.paint(performance.now());
      });
    }
  }

  /** @param {(i: number) => number} step from the index of an option to another one */
  walk(step) {
    let to = 0;
    if (this.chosen?.by === 'keyboard') to = step(this.options.indexOf(this.chosen.mark));
    else this.offer();
    const mark = this.options[Math.min(this.options.length - 1, Math.max(0, to))];
    if (mark !== undefined) this.choose(mark, 'keyboard');
  }

  /** Makes options of the requests in the picture, which stands still from now on. */
  offer() {
    const { list } = this.view;
    this.options = this.marks.toReversed().slice(0, MOST_OPTIONS);
    list.replaceChildren(
      ...this.options.map((_, i) => {
        const option = make('div', 'unseen');
        option.id = `${list.id}-${i}`;
        option.setAttribute('role', 'option');
        return option;
      }),
    );
    for (const i of this.options.keys()) this.name(i);
  }

  /** @param {number} i of an option */
  name(i) {
    const [option, mark] = [this.view.list.children[i], this.options[i]];
    if (option === undefined || mark === undefined) return;
    say(option, sentenceOf(mark.request));
    option.setAttribute('aria-selected', String(mark === this.chosen?.mark));
  }

  /** @param {Mark} mark @param {'pointer' | 'touch' | 'keyboard'} by */
  choose(mark, by) {
    const { list, paused, picture } = this.view;
    this.stay();
    this.chosen = { mark, by };
    paused.hidden = false;
    if (by === 'keyboard') {
      for (const i of this.options.keys()) this.name(i);
      list.setAttribute('aria-activedescendant', `${list.id}-${this.options.indexOf(mark)}`);
    }
    this.card.show(mark.request, mark, { width: picture.clientWidth, height: HEIGHT }, by === 'keyboard');
    this.paint(performance.now());
  }

  /** Closes the card. The picture moves again. */
  release() {
    const { list, paused } = this.view;
    this.stay();
    this.chosen = undefined;
    this.options = [];
    list.replaceChildren();
    list.removeAttribute('aria-activedescendant');
    paused.hidden = true;
    this.card.hide();
    this.paint(performance.now());
    this.wake();
  }

  releaseSoon() {
    if (this.chosen?.by !== 'pointer') return;
    this.grace ??= setTimeout(() => this.release(), GRACE_MS);
  }

  /** The card stays open. */
  stay() {
    clearTimeout(this.grace);
    this.grace = undefined;
  }
}
