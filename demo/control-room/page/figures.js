import { make, say, shown, shownShare, shownTime } from './dom.js';
import { inTen } from './words.js';

/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {{ text: string, words: string, bad: boolean }} Judged */
/** @typedef {'waiting' | 'failed' | 'within' | 'served'} TileName */
/** @typedef {Readonly<Record<TileName, Judged>>} Judgements */

/** A queue of this much work is longer than a person likes to wait for anything. */
const LONG_QUEUE_MS = 500;
/** One error in a hundred breaks the objective that most services promise: 99 % or more. */
export const FAILED_FROM = 0.01;
/** After a second a person loses the thread (J. Nielsen, "Response Times: The 3 Important Limits"). */
export const SLOW_FROM_MS = 1000;
/** A service that answers less than half of what it could works for requests that nobody waits for. */
const FEW_BELOW = 0.5;
/** Rates are averages of a second, so the first ones of a run are too low. */
const RATES_FROM_MS = 2000;

/** @type {Readonly<Record<TileName, string>>} */
const TITLES = { waiting: 'Waiting', within: '99 % answered within', failed: 'Failed', served: 'Served' };

/** @type {Judged} */
const NONE = { text: '–', words: '\u00A0', bad: false };

/** @type {Judgements} */
export const NOTHING = { waiting: NONE, within: NONE, failed: NONE, served: NONE };

/**
 * Compares the figures of a moment with the thresholds.
 *
 * @param {Pick<Sample, 'atMs' | 'served' | 'refused' | 'failed' | 'p99Ms' | 'waiting'>} sample
 * @param {number} capacity requests per second that matching can handle
 * @returns {Judgements}
 */
export function judge({ atMs, served, refused, failed, p99Ms, waiting }, capacity) {
  const all = served + refused + failed;
  const queueMs = (1000 * waiting) / capacity;
  const share = all === 0 ? 0 : failed / all;
  const reached = served / capacity;
  return {
    waiting: {
      text: shown(waiting),
      words:
        waiting === 0
          ? 'no queue'
          : `${queueMs < 1000 ? shownTime(queueMs) : `${shown(queueMs / 1000)}\u00A0s`} of work`,
      bad: queueMs >= LONG_QUEUE_MS,
    },
    within: p99Ms === null ? NONE : wait(p99Ms),
    failed:
      all === 0
        ? NONE
        : {
            text: shownShare(share),
            words: share >= FAILED_FROM ? inTen(share, 'gets an error', 'get an error') : 'no errors',
            bad: share >= FAILED_FROM,
          },
    served: {
      text: `${shown(served)}/s`,
      words: `${shown(100 * Math.min(1, reached))} % of capacity`,
      bad: atMs >= RATES_FROM_MS && reached < FEW_BELOW,
    },
  };
}

/** @param {number} ms @returns {Judged} */
function wait(ms) {
  const bad = ms >= SLOW_FROM_MS;
  return { text: shownTime(ms), words: bad ? 'too slow' : ms >= 500 ? 'noticeable' : 'fast', bad };
}

/**
 * The figures of a phase that has ended.
 *
 * @param {PhaseFigures} figures
 * @param {number} waiting the longest queue
 * @param {number} capacity
 * @returns {Judgements}
 */
export function recall({ seconds, sent, served, failed, p99Ms }, waiting, capacity) {
  const share = sent === 0 ? 0 : failed / sent;
  const rate = served / Math.max(1e-9, seconds);
  const queue = judge({ atMs: 0, served: 0, refused: 0, failed: 0, p99Ms: null, waiting }, capacity).waiting;
  return {
    waiting: { ...queue, words: 'at most' },
    within: p99Ms === null ? NONE : wait(p99Ms),
    failed: { text: shownShare(share), words: `${shown(failed)} of ${shown(sent)}`, bad: share >= FAILED_FROM },
    served: {
      text: `${shown(rate)}/s`,
      words: `${shown((100 * rate) / capacity)} % of capacity`,
      bad: rate / capacity < FEW_BELOW,
    },
  };
}

/** Numbers, each with a title above and words below. One turns red at its threshold, and the words say so, too. */
export class Tiles {
  element = make('div', 'tiles');
  /** @type {Partial<Record<TileName, { tile: HTMLElement, value: HTMLElement, words: HTMLElement }>>} */
  tiles = {};

  constructor() {
    for (const [name, title] of Object.entries(TITLES)) {
      const value = make('b', 'value', '–');
      const words = make('span', 'words', NONE.words);
      const tile = make('div', 'tile', make('span', 'title', title), value, words);
      tile.dataset['tile'] = name;
      this.tiles[/** @type {TileName} */ (name)] = { tile, value, words };
      this.element.append(tile);
    }
  }

  /** @param {Judgements} judged */
  show(judged) {
    for (const [name, { tile, value, words }] of Object.entries(this.tiles)) {
      const { text, words: said, bad } = judged[/** @type {TileName} */ (name)];
      say(value, text);
      say(words, said);
      tile.toggleAttribute('data-bad', bad);
    }
  }
}
