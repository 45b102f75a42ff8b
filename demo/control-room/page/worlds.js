import { byId, make, say } from './dom.js';
import { judge, NOTHING, recall, Tiles } from './figures.js';
import { turn } from './send.js';
import { TimeChart } from './time-chart.js';
import { aboutOf, captionOf, isRunning, kindsOf, rushOf } from './words.js';

/** @typedef {import('../live.js').WorldHistory} WorldHistory */
/** @typedef {import('../stage/surge-tick.js').Kinds} Kinds */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */
/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */

/** No sample for longer: the outage is not drawn beyond. */
const GAP_MS = 2000;
/** Figures of this moment are of the last seconds, which are enough requests for a share. */
const RECENT_MS = 10_000;
/** The first rates of a run are of too few requests. */
const RATE_FROM_MS = 2000;

/** One of the two worlds: its switch, its numbers and its chart. */
export class World {
  /** Of the run, oldest first. @type {Sample[]} */
  samples = [];
  /** @type {Sample | undefined} */
  sample;
  tiles = new Tiles();
  title = make('h3', '');
  about = make('p', 'about', '\u00A0');
  switch = make('button', 'switch', make('span', 'knob'));
  caption = make('p', 'caption', '\u00A0');
  kinds = make('p', 'kinds', kindsOf(undefined));

  /** @param {WorldId} id @param {(error: string) => void} complain */
  constructor(id, complain) {
    this.id = id;
    this.title.id = `world-${id}-title`;
    this.switch.type = 'button';
    this.switch.disabled = true;
    this.switch.setAttribute('role', 'switch');
    this.switch.setAttribute('aria-label', `Limits of the ${id} world`);
    this.switch.addEventListener('click', async () => {
      try {
        await turn(`worlds/${id}/limits`, this.sample?.enforced !== true);
        complain('');
      } catch (error) {
        complain(/** @type {Error} */ (error).message);
      }
    });
    const word = make('span', '', 'Limits');
    word.setAttribute('aria-hidden', 'true');
    const canvas = make('canvas', 'plot');
    canvas.setAttribute('aria-hidden', 'true');
    byId(`world-${id}`).replaceChildren(
      make(
        'div',
        'world-head',
        make('div', '', this.title, this.about),
        make('div', 'switch-place', word, this.switch),
      ),
      make('div', '', this.tiles.element, this.kinds),
      make('figure', '', canvas, make('figcaption', '', this.caption)),
    );
    // It reads sizes and colours, so it needs a place in the document.
    this.chart = new TimeChart(canvas);
    this.switch.setAttribute('aria-checked', String(id === 'right'));
    this.name(id === 'right', '\u00A0');
  }

  /** Begins with what the server has kept of a run. @param {WorldHistory | undefined} history */
  recall(history) {
    this.samples = [...(history?.samples ?? [])];
    this.chart.restart(history?.dots);
  }

  /** @param {WorldTick} tick @param {boolean} running */
  hear({ sample, drawn }, running) {
    this.sample = sample;
    if (running && sample.atMs > (this.samples.at(-1)?.atMs ?? -1)) this.samples.push(sample);
    this.chart.hear(drawn);
  }

  /**
   * @param {SurgeDescription} surge
   * @param {SurgePhase} phase
   * @param {PhaseFigures | undefined} end of the rush, after a run: then they are what the tiles show
   * @param {string} story of the rush, after a run
   */
  show(surge, phase, end, story) {
    const { sample, samples } = this;
    const live = isRunning(phase) || phase === 'ending';
    this.chart.scale(surge);
    this.chart.annotate(marksOf(samples), bandsOf(samples));
    this.switch.disabled = sample === undefined || !(phase === 'ready' || live);
    const now = sample ?? { enforced: this.id === 'right', redisAway: false };
    this.switch.setAttribute('aria-checked', String(now.enforced));
    if (live && sample !== undefined) {
      this.tiles.show(judge(sample, surge.capacity));
      this.name(sample.enforced, aboutOf(sample, surge));
      say(this.caption, captionOf(sample));
      say(this.kinds, kindsOf(this.recentKinds(sample)));
    } else if (end !== undefined) {
      const rush = samples.filter(({ atMs }) => atMs <= 1000 * end.seconds);
      this.tiles.show(recall(end, Math.max(0, ...rush.map(({ waiting }) => waiting)), surge.capacity));
      const had = rush.length === 0 ? now.enforced : limitsOf(rush);
      this.name(had, rushOf(had, now.enforced, surge));
      say(this.caption, story);
      say(this.kinds, kindsOf(end.kinds));
    } else {
      this.tiles.show(NOTHING);
      this.name(now.enforced, aboutOf(now, surge));
      // The worlds have ended in the middle of a run.
      say(
        this.caption,
        samples.length > 0 ? 'The run was cut off, so it has no result.' : 'Nobody asks for a ride yet.',
      );
      say(this.kinds, kindsOf(undefined));
    }
  }

  /** The title says what the numbers are of. @param {boolean | undefined} enforced undefined: a part of the time @param {string} about */
  name(enforced, about) {
    say(this.title, enforced === undefined ? 'Partly with limits' : enforced ? 'With limits' : 'Without limits');
    say(this.about, about);
  }

  /** Requests per second that were sent in the last seconds, retries included. Undefined where they are too few to say. */
  get rate() {
    const { sample } = this;
    const first = sample && this.recent(sample);
    if (sample === undefined || first === undefined || sample.atMs - first.atMs < RATE_FROM_MS) return undefined;
    return (1000 * (sample.sent - first.sent)) / (sample.atMs - first.atMs);
  }

  /** The first sample of the last seconds. @param {Sample} sample */
  recent({ atMs }) {
    return this.samples.find((one) => one.atMs >= atMs - RECENT_MS);
  }

  /** What was answered in the last seconds. @param {Sample} sample @returns {Kinds} */
  recentKinds(sample) {
    const { kinds } = sample;
    const first = this.recent(sample)?.kinds ?? kinds;
    const since = (/** @type {keyof Kinds} */ kind) => ({
      answered: kinds[kind].answered - first[kind].answered,
      served: kinds[kind].served - first[kind].served,
    });
    return { rides: since('rides'), estimates: since('estimates') };
  }
}

/** Whether a part of a run had limits; undefined: a part of it. @param {readonly Sample[]} samples */
function limitsOf(samples) {
  const on = samples.filter(({ enforced }) => enforced).length;
  return on === 0 ? false : on === samples.length ? true : undefined;
}

/** The instants at which limits were switched. @param {readonly Sample[]} samples */
function marksOf(samples) {
  return samples.flatMap(({ atMs, enforced }, i) => {
    const before = samples[i - 1];
    if (before === undefined || before.enforced === enforced) return [];
    return [{ at: atMs / 1000, text: enforced ? 'limits on' : 'limits off' }];
  });
}

/** The times in which Redis was stopped. @param {readonly Sample[]} samples */
function bandsOf(samples) {
  /** @type {[number, number][]} */
  const bands = [];
  let lastMs = -Infinity;
  for (const { atMs, redisAway } of samples) {
    if (!redisAway) continue;
    const last = bands.at(-1);
    if (last === undefined || atMs - lastMs > GAP_MS) bands.push([atMs / 1000, atMs / 1000]);
    else last[1] = atMs / 1000;
    lastMs = atMs;
  }
  return bands;
}
