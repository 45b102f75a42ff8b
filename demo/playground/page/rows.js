import { busiest } from '../model/admitted.js';
import { codedPolicy, decoratorOf, moduleOf } from '../model/code.js';
import { make, say } from '../../palette/elements.js';
import { viewOf } from './canvas.js';
import { actButton, byId, seconds, time } from './dom.js';
import { drawAxis, drawRow } from './picture.js';
import { copy } from './share.js';
import { LABELS, SENTENCES } from './words.js';

/** @typedef {import('../model/timeline.js').Timeline} Timeline */
/** @typedef {import('../model/timeline.js').Row} Row */

const STATS = /** @type {const} */ ([
  ['remaining', 'Remaining'],
  ['reset', 'Resets in'],
  ['passed', 'Passed'],
  ['rejected', 'Rejected'],
  ['most', 'Most in any 60 s'],
]);

/** @typedef {(typeof STATS)[number][0]} StatName */

/** Figures that change more often cannot be read. */
const FIGURES_MS = 100;

/** All rows, and the seconds above them. */
export class Rows {
  #axis = byId('axis', HTMLCanvasElement);
  #place = byId('rows', HTMLElement);
  /** @type {RowView[]} */
  #views;
  #saidAt = -Infinity;
  /** Whether it shows all rows, and not only two. */
  isAll = false;

  /**
   * @param {Timeline} timeline
   * @param {() => void} crash what the button of the concurrency does
   */
  constructor(timeline, crash) {
    this.#views = timeline.rows.map(({ policy: { algorithm } }) => new RowView(algorithm, crash));
    this.#place.append(...this.#views.map(({ element }) => element));
  }

  /**
   * Says which row fits the case, if any does.
   *
   * @param {string} [algorithm]
   */
  fit(algorithm) {
    for (const view of this.#views) view.fits(view.algorithm === algorithm);
  }

  /**
   * Puts the two rows of a case on top. The others follow in their order, or are hidden.
   *
   * @param {readonly [string, string]} pair
   * @param {boolean} isAll
   */
  arrange(pair, isAll) {
    this.isAll = isAll;
    const rank = (/** @type {RowView} */ { algorithm }) => (pair.indexOf(algorithm) + 3) % 3;
    const rows = this.#views.toSorted((a, b) => rank(a) - rank(b));
    for (const view of rows) view.element.hidden = !isAll && rank(view) === 2;
    this.#place.append(...rows.map(({ element }) => element));
  }

  /** @param {string} algorithm */
  shows(algorithm) {
    return this.#views.some((view) => view.algorithm === algorithm && !view.element.hidden);
  }

  /** @param {import('./player.js').Player} player */
  draw({ timeline, playing: isPlaying, from }) {
    const view = viewOf(timeline, from);
    drawAxis(this.#axis, view);
    const now = performance.now();
    const isTime = !isPlaying || now - this.#saidAt >= FIGURES_MS;
    if (isTime) this.#saidAt = now;
    for (const [i, row] of timeline.rows.entries()) {
      const shown = this.#views[i];
      if (shown === undefined || shown.element.hidden) continue;
      shown.draw(row, view);
      if (isTime) shown.tell(row, timeline);
    }
  }
}

/** One algorithm: its picture, its figures, and its policy to copy. */
class RowView {
  element;
  #canvas = make('canvas', 'picture');
  #code = make('code', '');
  #outlook = make('p', 'outlook');
  /** @type {HTMLElement | undefined} */
  #most;
  /** @type {Map<StatName, HTMLElement>} */
  #stats = new Map();
  #fits = make('span', 'fits', 'Fits this case');
  #module = '';
  algorithm;

  /**
   * @param {Row['policy']['algorithm']} algorithm
   * @param {() => void} crash
   */
  constructor(algorithm, crash) {
    this.algorithm = algorithm;
    const title = make('h3', 'title', LABELS[algorithm]);
    title.id = `row-${algorithm}`;
    const about = make('div', 'about', this.#fits, title, make('p', 'sentence', SENTENCES[algorithm]));
    const row = LABELS[algorithm].toLowerCase();
    const copies = copyButton('Copy', `@RateLimit of the ${row}`, () => this.#code.textContent ?? '');
    const copiesAll = copyButton('Copy module', `of the ${row}`, () => this.#module);
    const copying = make('p', 'copies', copies, copiesAll);
    about.append(make('details', 'policy', make('summary', '', 'The code'), this.#code, copying));
    if (algorithm === 'concurrency') about.append(crashButton(crash));
    const list = make('dl', 'stats');
    for (const [name, label] of STATS) {
      const value = make('dd', '', '–');
      value.dataset.stat = name;
      this.#stats.set(name, value);
      const term = make('dt', '', label);
      if (name === 'most') this.#most = term;
      list.append(make('div', name, term, value));
    }
    this.#canvas.setAttribute('role', 'img');
    this.element = make('article', 'row', about, this.#canvas, make('div', 'figures', this.#outlook, list));
    this.element.dataset.algorithm = algorithm;
    this.element.setAttribute('aria-labelledby', title.id);
  }

  /** @param {boolean} fits */
  fits(fits) {
    this.#fits.hidden = !fits;
    this.element.toggleAttribute('data-fits', fits);
  }

  /** @type {(row: Row, view: import('./canvas.js').View) => void} */
  draw({ lane }, view) {
    drawRow(this.#canvas, lane, view);
  }

  /** @type {(row: Row, timeline: Timeline) => void} */
  tell({ lane, policy }, { clock, settings }) {
    const { windowMs } = settings;
    const { limit, lease } = lane.algorithm;
    const { remaining, retryAfter, resetAfter, delay } = lane.outlook(clock);
    const state = retryAfter > 0 ? 'rejects' : delay > 0 ? 'waits' : 'passes';
    this.#outlook.dataset.state = state;
    say(
      this.#outlook,
      { passes: 'Passes now', waits: `Waits ${seconds(delay)}`, rejects: `Retry-After ${seconds(retryAfter)}` }[state],
    );
    const most = busiest(lane.marks, windowMs * 1000, clock);
    this.#say('remaining', `${remaining} of ${limit}`);
    this.#say('reset', resetAfter > 0 ? seconds(resetAfter) : 'unused');
    this.#say('passed', String(lane.allowed));
    this.#say('rejected', String(lane.rejected));
    const isOver = lease === undefined && !lane.algorithm.refills && most.count > limit;
    this.#say('most', `${most.count}${isOver ? `, over ${limit}` : ''}`);
    if (this.#most !== undefined) say(this.#most, `Most in any ${time(windowMs * 1000)}`);
    this.#stats.get('most')?.toggleAttribute('data-over', isOver);
    const coded = codedPolicy(policy, settings, lane.hasLow);
    say(this.#code, decoratorOf(coded));
    this.#module = moduleOf(coded);
    const described = `${LABELS[this.algorithm]}: ${lane.allowed} passed, ${lane.rejected} rejected, at most ${most.count} within a window.`;
    if (this.#canvas.getAttribute('aria-label') !== described) this.#canvas.setAttribute('aria-label', described);
  }

  /** @type {(name: StatName, text: string) => void} */
  #say(name, text) {
    const place = this.#stats.get(name);
    if (place !== undefined) say(place, text);
  }
}

/** @type {(label: string, what: string, text: () => string) => HTMLButtonElement} */
function copyButton(label, what, text) {
  const button = actButton(label, () => void copy(button, text(), 'Copied ✓'));
  button.setAttribute('aria-label', `${label} ${what}`);
  return button;
}

/** @param {() => void} crash */
function crashButton(crash) {
  const button = actButton('Crash the pod', crash);
  button.className = 'crash';
  button.title = 'The process that runs the requests dies: their leases end by themselves';
  return button;
}
