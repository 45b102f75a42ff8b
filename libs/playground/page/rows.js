import { busiest } from '../model/admitted.js';
import { decoratorOf, withClasses } from '../model/settings.js';
import { viewOf } from './canvas.js';
import { byId, make, say, seconds } from './dom.js';
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
  /** @type {RowView[]} */
  #views;
  #saidAt = -Infinity;

  /**
   * @param {Timeline} timeline
   * @param {() => void} crash what the button of the concurrency does
   */
  constructor(timeline, crash) {
    this.#views = timeline.rows.map(({ policy: { algorithm } }) => new RowView(algorithm, crash));
    byId('rows', HTMLElement).append(...this.#views.map(({ element }) => element));
  }

  /**
   * @param {Timeline} timeline
   * @param {boolean} isPlaying
   */
  draw(timeline, isPlaying) {
    const view = viewOf(timeline);
    drawAxis(this.#axis, view);
    const now = performance.now();
    const isTime = !isPlaying || now - this.#saidAt >= FIGURES_MS;
    if (isTime) this.#saidAt = now;
    for (const [i, row] of timeline.rows.entries()) {
      this.#views[i]?.draw(row, view);
      if (isTime) this.#views[i]?.tell(row, timeline);
    }
  }
}

/** One algorithm: its picture, its figures, and its policy to copy. */
class RowView {
  element;
  #canvas = make('canvas', 'picture');
  #code = make('code', 'policy');
  #outlook = make('p', 'outlook');
  /** @type {HTMLElement | undefined} */
  #most;
  /** @type {Map<StatName, HTMLElement>} */
  #stats = new Map();
  #algorithm;

  /**
   * @param {Row['policy']['algorithm']} algorithm
   * @param {() => void} crash
   */
  constructor(algorithm, crash) {
    this.#algorithm = algorithm;
    const title = make('h3', '', LABELS[algorithm]);
    title.id = `row-${algorithm}`;
    const copies = make('button', 'copy', 'Copy');
    copies.type = 'button';
    copies.setAttribute('aria-label', `Copy @RateLimit of the ${LABELS[algorithm].toLowerCase()}`);
    copies.addEventListener('click', () => void copy(copies, this.#code.textContent ?? '', 'Copied ✓'));
    const about = make('div', 'about', title, make('p', 'sentence', SENTENCES[algorithm]));
    about.append(make('p', 'snippet', this.#code, copies));
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

  /**
   * @param {Row} row
   * @param {import('./canvas.js').View} view
   */
  draw({ lane }, view) {
    drawRow(this.#canvas, lane, view);
  }

  /**
   * @param {Row} row
   * @param {Timeline} timeline
   */
  tell({ lane, policy }, { clock, settings: { windowMs } }) {
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
    if (this.#most !== undefined) say(this.#most, `Most in any ${windowMs / 1000} s`);
    this.#stats.get('most')?.toggleAttribute('data-over', isOver);
    say(this.#code, decoratorOf(lane.hasLow ? withClasses(policy) : policy));
    const described = `${LABELS[this.#algorithm]}: ${lane.allowed} passed, ${lane.rejected} rejected, at most ${most.count} within a window.`;
    if (this.#canvas.getAttribute('aria-label') !== described) this.#canvas.setAttribute('aria-label', described);
  }

  /**
   * @param {StatName} name
   * @param {string} text
   */
  #say(name, text) {
    const place = this.#stats.get(name);
    if (place !== undefined) say(place, text);
  }
}

/** @param {() => void} crash */
function crashButton(crash) {
  const button = make('button', 'crash', 'Its pod dies');
  button.type = 'button';
  button.title = 'The process that runs the requests dies: their leases end by themselves';
  button.addEventListener('click', crash);
  return button;
}
