import { byId, make, say } from './dom.js';
import { judge, NOTHING, recall, Tiles } from './figures.js';
import { turn } from './send.js';
import { TimeChart } from './time-chart.js';
import { aboutOf, captionOf } from './words.js';

/** @typedef {import('../live.js').WorldHistory} WorldHistory */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */
/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */

/** No sample for longer: the outage is not drawn beyond. */
const GAP_MS = 2000;

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
      this.tiles.element,
      make('figure', '', canvas, make('figcaption', '', this.caption)),
    );
    // It reads sizes and colours, so it needs a place in the document.
    this.chart = new TimeChart(canvas);
    this.name(id === 'right');
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
    this.name(sample?.enforced ?? this.id === 'right');
    if (live && sample !== undefined) {
      this.tiles.show(judge(sample, surge.capacity));
      say(this.about, aboutOf(sample.enforced, surge));
      say(this.caption, captionOf(sample));
    } else if (end !== undefined) {
      const rush = samples.filter(({ atMs }) => atMs <= 1000 * end.seconds);
      this.tiles.show(recall(end, Math.max(0, ...rush.map(({ waiting }) => waiting)), surge.capacity));
      say(this.about, `The rush, ${spanOf(rush)}`);
      say(this.caption, story);
    } else {
      this.tiles.show(NOTHING);
      say(this.about, aboutOf(sample?.enforced ?? this.id === 'right', surge));
      say(this.caption, 'Nobody asks for a ride yet.');
    }
  }

  /** The title follows the switch. @param {boolean} enforced */
  name(enforced) {
    say(this.title, enforced ? 'With limits' : 'Without limits');
    this.switch.setAttribute('aria-checked', String(enforced));
  }
}

/** @param {SurgePhase} phase */
export function isRunning(phase) {
  return phase === 'surge' || phase === 'recovery';
}

/** What the limits were in a part of a run. @param {readonly Sample[]} samples */
function spanOf(samples) {
  const on = samples.filter(({ enforced }) => enforced).length;
  if (on === 0) return 'without limits';
  return on === samples.length ? 'with limits' : 'in which the limits were switched';
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
