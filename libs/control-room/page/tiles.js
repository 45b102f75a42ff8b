import { make, say, shown, shownShare, shownTime } from './dom.js';
import { ofTen } from './words.js';

/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {{ text: string, words: string, bad: boolean }} Judged */
/** @typedef {'failed' | 'p99' | 'rides'} TileName */

/** One error in a hundred breaks the objective that most services promise: 99 % or more. */
export const FAILED_FROM = 0.01;
/** After a second a person loses the thread (J. Nielsen, "Response Times: The 3 Important Limits"). */
export const SLOW_FROM_MS = 1000;
/** A service that answers less than half of what it could is busy with something else: requests that nobody waits for. */
const FEW_BELOW = 0.5;

/** @type {Readonly<Record<TileName, { title: string, unit: string }>>} */
const TILES = {
  failed: { title: 'Failed', unit: 'failed' },
  p99: { title: 'Slowest answers (p99)', unit: 'slowest' },
  rides: { title: 'Rides per second', unit: 'rides/s' },
};

/** @type {Judged} */
const NONE = { text: '–', words: 'no requests', bad: false };

/**
 * Compares figures with the thresholds.
 *
 * @param {Pick<Sample, 'served' | 'refused' | 'failed' | 'p99Ms' | 'rides'> | undefined} sample
 * @param {number} asked requests per second that riders send
 * @param {number} capacity requests per second that matching can serve
 * @returns {Readonly<Record<TileName, Judged>>}
 */
export function judge(sample, asked, capacity) {
  const all = sample === undefined ? 0 : sample.served + sample.refused + sample.failed;
  if (sample === undefined || all < 0.5) return { failed: NONE, p99: NONE, rides: NONE };
  const { failed, p99Ms, rides, served } = sample;
  const share = failed / all;
  const possible = Math.min(capacity, Math.max(asked, served, 1));
  const reached = served / possible;
  return {
    failed: {
      text: shownShare(share),
      words:
        share >= FAILED_FROM
          ? `${ofTen(share)} get an error`
          : share > 0
            ? 'hardly any errors'
            : 'nobody gets an error',
      bad: share >= FAILED_FROM,
    },
    p99: p99Ms === null ? { ...NONE, words: 'no answers yet' } : wait(p99Ms),
    rides: {
      text: shownRides(rides),
      words:
        reached >= 0.8
          ? possible < capacity
            ? 'all that is asked for'
            : 'all that is possible'
          : `${shown(100 * reached)} % of the possible`,
      bad: reached < FEW_BELOW,
    },
  };
}

/** @param {number} p99Ms @returns {Judged} */
export function wait(p99Ms) {
  const bad = p99Ms >= SLOW_FROM_MS;
  return { text: shownTime(p99Ms), words: bad ? 'people give up' : p99Ms >= 500 ? 'noticeable' : 'fast', bad };
}

/**
 * The figures of a phase that has ended.
 *
 * @param {import('../stage/surge-tick.js').PhaseFigures} figures
 * @returns {Readonly<Record<TileName, Judged>>}
 */
export function recallOf({ seconds, sent, failed, p99Ms, rides }) {
  const share = sent === 0 ? 0 : failed / sent;
  const words = 'in the surge';
  const perSecond = rides / Math.max(1e-9, seconds);
  return {
    failed: { text: shownShare(share), words, bad: share >= FAILED_FROM },
    p99: { text: p99Ms === null ? '–' : shownTime(p99Ms), words, bad: (p99Ms ?? 0) >= SLOW_FROM_MS },
    rides: { text: shownRides(perSecond), words, bad: false },
  };
}

/** @param {number} perSecond */
export function shownRides(perSecond) {
  return perSecond < 9.95 ? perSecond.toFixed(1) : shown(perSecond);
}

/** A number with a title above and words below. It turns red at its threshold, and the words say so, too. */
export class Tile {
  value = make('b', 'value', '–');
  words = make('span', 'words', NONE.words);

  /** @param {string} title @param {string} name */
  constructor(title, name) {
    this.element = make('div', 'tile', make('span', 'title', title), this.value, this.words);
    this.element.dataset['tile'] = name;
  }

  /** @param {Judged} judged */
  show({ text, words, bad }) {
    say(this.value, text);
    say(this.words, words);
    this.element.toggleAttribute('data-bad', bad);
  }
}

/** The tiles of a world. */
export class Tiles {
  failed = new Tile(TILES.failed.title, 'failed');
  p99 = new Tile(TILES.p99.title, 'p99');
  rides = new Tile(TILES.rides.title, 'rides');
  element = make('div', 'tiles', this.failed.element, this.p99.element, this.rides.element);

  /** @param {Readonly<Record<TileName, Judged>>} judged */
  show(judged) {
    this.failed.show(judged.failed);
    this.p99.show(judged.p99);
    this.rides.show(judged.rides);
  }
}

/** A small table of the tiles' figures, which a phone keeps in view instead of the tiles. */
export class Score {
  /** @type {Record<string, Record<TileName, HTMLElement>>} */
  cells = {};

  /** @param {HTMLTableElement} table @param {Readonly<Record<string, string>>} titles by row */
  constructor(table, titles) {
    const names = /** @type {const} */ (['failed', 'p99', 'rides']);
    const head = make('tr', '', make('td', ''), ...names.map((name) => columnHead(TILES[name].unit)));
    const rows = Object.entries(titles).map(([id, title]) => {
      const cells = { failed: make('td', '', '–'), p99: make('td', '', '–'), rides: make('td', '', '–') };
      this.cells[id] = cells;
      const first = make('th', '', title);
      first.scope = 'row';
      return make('tr', '', first, ...names.map((name) => cells[name]));
    });
    table.replaceChildren(make('thead', '', head), make('tbody', '', ...rows));
  }

  /** @param {string} id @param {Readonly<Record<TileName, Judged>>} judged */
  show(id, judged) {
    for (const [name, cell] of Object.entries(this.cells[id] ?? {})) {
      const { text, bad } = judged[/** @type {TileName} */ (name)];
      say(cell, bad ? `! ${text}` : text);
      cell.toggleAttribute('data-bad', bad);
    }
  }
}

/** @param {string} text */
function columnHead(text) {
  const head = make('th', '', text);
  head.scope = 'col';
  return head;
}
