import { Tally } from '../../hero/page/tally.js';
import { make, say } from '../../palette/elements.js';
import { byId } from './dom.js';
import { RunPicture } from './run-picture.js';
import { turn } from './send.js';
import { aboutOf, captionOf, isRunning } from './words.js';

/** @typedef {import('../live.js').WorldHistory} WorldHistory */
/** @typedef {import('../stage/surge-tick.js').Rides} Rides */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */
/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */

/** No sample for longer: the outage is not drawn beyond. */
const GAP_MS = 2000;

/** @type {Rides} */
const NO_RIDES = { sent: 0, served: 0, refused: 0, failed: 0 };

/** One of the two worlds: its switch, its picture, and what became of the requests for rides in the rush. */
export class World {
  /** Of the run, oldest first. @type {Sample[]} */
  samples = [];
  /** @type {Sample | undefined} */
  sample;
  rush = NO_RIDES;
  tally = new Tally('left, or got an error');
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
    const canvas = make('canvas', 'fh-canvas');
    canvas.setAttribute('aria-hidden', 'true');
    byId(`world-${id}`).replaceChildren(
      make(
        'div',
        'world-head',
        make('div', '', this.title, this.about),
        make('div', 'switch-place', word, this.switch),
      ),
      make('figure', 'fh', canvas, this.tally.bar, this.tally.figures, make('figcaption', '', this.caption)),
    );
    // It reads sizes and colours, so it needs a place in the document.
    this.picture = new RunPicture(canvas);
    this.switch.setAttribute('aria-checked', String(id === 'right'));
    this.name(id === 'right');
  }

  /** Begins with what the server has kept of a run. @param {WorldHistory | undefined} history */
  recall(history) {
    this.samples = [...(history?.samples ?? [])];
    this.rush = NO_RIDES;
    this.picture.restart(history?.dots);
  }

  /** @param {WorldTick} tick @param {boolean} running */
  hear({ sample, rush, drawn }, running) {
    this.sample = sample;
    this.rush = rush;
    if (running && sample.atMs > (this.samples.at(-1)?.atMs ?? -1)) this.samples.push(sample);
    this.picture.hear(drawn);
  }

  /**
   * The title and the numbers are those of the rush, from its begin to the end of the page's life: what happens now is in the words below
   * the title and below the picture.
   *
   * @param {SurgeDescription} surge
   * @param {SurgePhase} phase
   * @param {string} story of the rush, after a run
   * @param {string} recovery what the switch has changed, after a run
   */
  show(surge, phase, story, recovery) {
    const { sample, samples, rush } = this;
    const live = isRunning(phase) || phase === 'ending';
    this.picture.scale(surge);
    this.picture.annotate(marksOf(samples), bandsOf(samples));
    this.switch.disabled = sample === undefined || !(phase === 'ready' || live);
    const now = sample ?? { enforced: this.id === 'right', redisAway: false };
    this.switch.setAttribute('aria-checked', String(now.enforced));
    const { had } = this;
    this.name(had === null ? now.enforced : had);
    const { served, refused, failed, sent } = rush;
    this.tally.show({ served, refused, failed, waiting: sent - served - refused - failed });
    say(this.about, recovery !== '' ? recovery : aboutOf(now, surge, had));
    say(this.caption, live && sample !== undefined ? captionOf(sample, surge) : story !== '' ? story : this.rest);
  }

  /** What a world says that is neither in a run nor has a result. */
  get rest() {
    return this.samples.length > 0 ? 'The run was cut off, so it has no result.' : 'No rider asks for a ride yet.';
  }

  /** Whether the rush had limits; undefined: a part of it; null: there was none. */
  get had() {
    const rush = this.samples.filter(({ phase }) => phase === 'surge');
    return rush.length === 0 ? null : limitsOf(rush);
  }

  /** @param {boolean | undefined} enforced undefined: a part of the time */
  name(enforced) {
    say(this.title, enforced === undefined ? 'Partly with limits' : enforced ? 'With limits' : 'Without limits');
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
