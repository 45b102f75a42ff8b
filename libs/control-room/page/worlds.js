import { Chart, topOf } from './chart.js';
import { byId, make, say, shown, shownShare } from './dom.js';
import { Followed } from './followed.js';
import { Requests } from './requests.js';
import { turn } from './send.js';
import { judge, recallOf, Tiles } from './tiles.js';
import { aboutOf, captionOf } from './words.js';

/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */
/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */
/** @typedef {import('./chart.js').Point & { sample: Sample }} RunPoint */

export const TITLES = { left: 'Without limits', right: 'With limits' };

/** Rates of what riders send are averages of this many milliseconds. */
const RATE_MS = 1000;

/** The axis of a run: its story stays where it was after the end. */
const RUN_AXIS = {
  splits: (/** @type {number} */ _, /** @type {number} */ to) =>
    Array.from({ length: Math.floor(to / 10) + 1 }, (__, i) => 10 * i),
  label: (/** @type {number} */ at) => `${at} s`,
};

/** One of the two worlds: switch, tiles, chart, drawn requests and the followed rider. */
export class World {
  /** @type {RunPoint[]} */
  points = [];
  /** @type {{ atMs: number, sent: number }[]} */
  sent = [];
  /** @type {Sample | undefined} */
  sample;
  /** @type {Pick<WorldTick['total'], 'served' | 'refused' | 'failed'>} */
  total = { served: 0, refused: 0, failed: 0 };
  /** @type {WorldTick['servedShare']} */
  servedShare = { rides: null, estimates: null };

  /** @param {WorldId} id @param {(error: string) => void} complain */
  constructor(id, complain) {
    this.id = id;
    const title = TITLES[id];
    const place = byId(`world-${id}`);
    const heading = make('h2', '', title);
    heading.id = `world-${id}-title`;
    this.about = make('p', 'about', ' ');
    this.switch = make('button', 'switch', make('span', 'knob'));
    this.switch.type = 'button';
    this.switch.disabled = true;
    this.switch.setAttribute('role', 'switch');
    this.switch.setAttribute('aria-checked', String(id === 'right'));
    this.switch.setAttribute('aria-label', `Limits of the world “${title}”`);
    this.switch.addEventListener('click', async () => {
      try {
        await turn(`worlds/${id}/limits`, this.sample?.enforced !== true);
        complain('');
      } catch (error) {
        complain(/** @type {Error} */ (error).message);
      }
    });
    const word = make('span', 'switch-word', 'Limits');
    word.setAttribute('aria-hidden', 'true');

    this.tiles = new Tiles();
    this.busyShare = make('b', '', '–');
    this.waiting = make('b', '', '–');
    this.ridesServed = make('b', '', '–');
    this.estimatesServed = make('b', '', '–');
    const small = make(
      'p',
      'small',
      make('span', '', 'Matching is ', this.busyShare, ' busy'),
      make('span', '', this.waiting, ' wait in its queue'),
      make('span', '', 'Served: ', this.ridesServed, ' of rides, ', this.estimatesServed, ' of estimates'),
    );
    this.legend = { served: make('b', '', '0'), refused: make('b', '', '0'), failed: make('b', '', '0') };
    const key = (/** @type {'served' | 'refused' | 'failed'} */ name, /** @type {string} */ words) =>
      make('span', `key ${name}`, `${words} `, this.legend[name], '/s');
    const plot = make('div', 'plot');
    plot.setAttribute('aria-hidden', 'true');
    this.caption = make('p', 'caption', 'Nobody asks for a ride.');
    const requests = make('div', 'requests');
    this.followed = new Followed();
    place.replaceChildren(
      make('div', 'world-head', make('div', '', heading, this.about), make('div', 'switch-place', word, this.switch)),
      this.tiles.element,
      make(
        'figure',
        '',
        make(
          'p',
          'legend',
          key('served', 'served'),
          key('refused', 'refused in milliseconds'),
          key('failed', 'failed after seconds'),
        ),
        plot,
        make('figcaption', '', this.caption),
      ),
      requests,
      this.followed.element,
      small,
    );
    // They read sizes and colours, so they need a place in the document.
    this.requests = new Requests(requests, { title });
    this.chart = new Chart(plot, RUN_AXIS);
  }

  /** @param {readonly Sample[]} samples */
  recall(samples) {
    this.points = samples.map(pointOf);
    this.sent = [];
    this.requests.restart();
  }

  /** A new run begins. */
  restart() {
    this.points = [];
    this.sent = [];
    this.requests.restart();
  }

  /** @param {WorldTick} tick @param {number} atMs @param {boolean} running */
  hear(tick, atMs, running) {
    const { sample } = tick;
    this.sample = sample;
    this.total = tick.total;
    this.servedShare = tick.servedShare;
    const last = this.points.at(-1);
    if (running && (last === undefined || sample.atMs > last.sample.atMs)) this.points.push(pointOf(sample));
    this.sent.push({ atMs, sent: tick.total.sent });
    while ((this.sent[1]?.atMs ?? Infinity) <= atMs - RATE_MS) this.sent.shift();
    if (running) this.requests.hear(tick, atMs);
    else this.requests.tell(tick); // the gate is as the switch is
    this.followed.hear(tick);
  }

  /** Requests per second that riders send to this world. */
  get asked() {
    const [first, last] = [this.sent[0], this.sent.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0;
    return Math.max(0, (1000 * (last.sent - first.sent)) / (last.atMs - first.atMs));
  }

  /** The highest stack of the run. */
  get top() {
    return topOf(this.points);
  }

  /**
   * @param {SurgeDescription} surge
   * @param {SurgePhase} phase
   * @param {number} top of both worlds' charts
   * @param {PhaseFigures | undefined} end of the surge, after a run: then they are what the tiles show
   */
  show(surge, phase, top, end) {
    const { sample } = this;
    const running = isRunning(phase);
    const last = running || phase === 'ending' ? sample : undefined;
    const judged = end === undefined ? judge(last, this.asked, surge.capacity) : recallOf(end);
    this.tiles.show(judged);
    const enforced = sample?.enforced ?? this.id === 'right';
    this.switch.setAttribute('aria-checked', String(enforced));
    this.switch.disabled = sample === undefined || (phase !== 'ready' && phase !== 'ending' && !running);
    say(this.about, aboutOf(enforced, surge));
    for (const name of /** @type {const} */ (['served', 'refused', 'failed'])) {
      say(this.legend[name], last === undefined ? '–' : shown(last[name]));
    }
    say(this.busyShare, sample === undefined ? '–' : shownShare(sample.utilisation));
    say(this.waiting, sample === undefined ? '–' : shown(sample.waiting));
    const { rides, estimates } = this.servedShare;
    say(this.ridesServed, rides === null ? '–' : shownShare(rides));
    say(this.estimatesServed, estimates === null ? '–' : shownShare(estimates));
    const newest = this.points.at(-1);
    say(
      this.caption,
      last !== undefined ? captionOf(last, surge) : end === undefined ? 'Nobody asks for a ride yet.' : this.#whole(),
    );
    this.chart.draw({
      points: this.points,
      from: 0,
      to: Math.max(surge.seconds, newest?.at ?? 0),
      top,
      capacity: { value: surge.capacity, text: `matching serves ${shown(surge.capacity)}/s` },
      marks: marksOf(this.points),
    });
    return judged;
  }

  /** What became of all requests of the run. */
  #whole() {
    const { served, refused, failed } = this.total;
    const share = (/** @type {number} */ count) => shownShare(count / Math.max(1, served + refused + failed));
    return `In the whole run ${share(served)} were served, ${share(refused)} refused at once, ${share(failed)} failed.`;
  }
}

/** @param {SurgePhase} phase */
export function isRunning(phase) {
  return phase === 'calm' || phase === 'surge' || phase === 'recovery';
}

/** @param {Sample} sample @returns {RunPoint} */
function pointOf(sample) {
  const { atMs, served, refused, failed, decider } = sample;
  return { at: atMs / 1000, served, refused, failed, decider, sample };
}

/** The instants at which limits were switched. @param {readonly RunPoint[]} points */
function marksOf(points) {
  return points.flatMap(({ at, sample: { enforced } }, i) => {
    const before = points[i - 1];
    return before === undefined || before.sample.enforced === enforced
      ? []
      : [{ at, text: enforced ? 'limits on' : 'limits off' }];
  });
}
