import { Chart, topOf } from './chart.js';
import { byId, make, say, shown, shownShare } from './dom.js';
import { FAILED_FROM, Tile, wait } from './tiles.js';
import { ofTen } from './words.js';

/** @typedef {import('../live.js').ProcessSample} ProcessSample */
/** @typedef {import('../live.js').Tick} Tick */

const SHOWN_SECONDS = 90;
/** A quiet chart has this scale, so that one request is no mountain. */
const LEAST = 10;
const BUSY_FROM = 0.95;

const CLOCK_AXIS = {
  splits: (/** @type {number} */ _, /** @type {number} */ to) => [90, 60, 30, 0].map((ago) => to - ago),
  label: (/** @type {number} */ at, /** @type {number} */ to) => (at === to ? 'now' : `−${Math.round(to - at)} s`),
};

/** @type {Readonly<Record<Tick['decider'], readonly [string, string]>>} */
const DECIDERS = {
  redis: ['Redis decides', ', for all processes together.'],
  process: ['This process decides', ', for itself alone: it runs without REDIS_URL.'],
  fallback: ['This process decides', ', with its share of the limits, while Redis is unavailable.'],
  none: ['Limits are off', ': every request passes.'],
};

/** What clients of this process got: a small chart and tiles. */
export class Process {
  /** @type {ProcessSample[]} */
  samples = [];
  legend = { served: make('b', '', '0'), refused: make('b', '', '0'), failed: make('b', '', '0') };
  failed = new Tile('Failed', 'failed');
  p99 = new Tile('Slowest (p99)', 'p99');
  matching = new Tile('Matching busy', 'matching');
  caption = make('p', 'caption', '');

  constructor() {
    const key = (/** @type {'served' | 'refused' | 'failed'} */ name, /** @type {string} */ words) =>
      make('span', `key ${name}`, `${words} `, this.legend[name], '/s');
    const plot = make('div', 'plot');
    plot.setAttribute('aria-hidden', 'true');
    byId('process-figures').replaceChildren(
      make(
        'figure',
        '',
        make('p', 'legend', key('served', 'served'), key('refused', 'refused'), key('failed', 'failed')),
        plot,
      ),
      make('div', 'tiles', this.failed.element, this.p99.element, this.matching.element),
    );
    this.chart = new Chart(plot, CLOCK_AXIS);
  }

  /** @param {readonly ProcessSample[]} samples */
  recall(samples) {
    this.samples = [...samples];
  }

  /** @param {Tick} tick */
  hear({ process: sample, decider, matching }) {
    const last = this.samples.at(-1);
    if (last !== undefined && sample.at < last.at) this.samples = []; // the clock stepped back
    if (last?.at !== sample.at) this.samples.push(sample);
    while ((this.samples[1]?.at ?? Infinity) < sample.at - 1000 * SHOWN_SECONDS) this.samples.shift();
    this.draw(sample);
    this.judge(sample, matching);
    const line = byId('decider');
    if (line.dataset['decider'] === decider) return;
    line.dataset['decider'] = decider;
    const [subject, rest] = DECIDERS[decider];
    line.replaceChildren(make('b', '', subject), rest);
  }

  /** @param {ProcessSample} sample */
  draw({ at }) {
    const points = this.samples.map((each) => ({ ...each, at: each.at / 1000 }));
    const to = at / 1000;
    this.chart.draw({ points, from: to - SHOWN_SECONDS, to, top: 1.15 * Math.max(LEAST, topOf(points)) });
  }

  /** @param {ProcessSample} sample @param {Tick['matching']} matching */
  judge({ served, refused, failed, p99Ms }, matching) {
    for (const [name, value] of Object.entries({ served, refused, failed })) {
      say(this.legend[/** @type {'served'} */ (name)], shown(value));
    }
    const all = served + refused + failed;
    const share = all === 0 ? 0 : failed / all;
    this.failed.show(
      all === 0
        ? { text: '–', words: 'no requests', bad: false }
        : {
            text: shownShare(share),
            words: share >= FAILED_FROM ? `${ofTen(share)} get an error` : 'no errors',
            bad: share >= FAILED_FROM,
          },
    );
    this.p99.show(p99Ms === null ? { text: '–', words: 'no answers', bad: false } : wait(p99Ms));
    const busy = matching === undefined ? undefined : matching.utilisation >= BUSY_FROM;
    this.matching.show(
      matching === undefined
        ? { text: '–', words: 'unavailable', bad: true }
        : { text: shownShare(matching.utilisation), words: `${shown(matching.waiting)} wait`, bad: busy === true },
    );
  }
}
