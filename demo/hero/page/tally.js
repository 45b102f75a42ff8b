import { make, say } from '../../palette/elements.js';

/** @typedef {Readonly<Record<'served' | 'refused' | 'failed' | 'waiting', number>>} Counts */

/** The parts of the bar, which add up to everybody who has asked. The last one is empty in the end. */
const PARTS = /** @type {const} */ ([
  ['served', 'got a ride'],
  ['refused', 'told “not now” at once'],
  ['failed', 'waited and left'],
  ['waiting', 'waiting'],
]);
/** Those of them with a figure: who waits is on the way to another one. */
export const FIGURES = PARTS.slice(0, 3);

/** What became of everybody who asked: a bar of all, and a number for each end. */
export class Tally {
  /** @param {string} [failed] how the third end is called, where not all of them have waited */
  constructor(failed) {
    this.bar.setAttribute('aria-hidden', 'true');
    if (failed !== undefined) say(/** @type {Element} */ (this.#figures[2]?.group.firstElementChild), failed);
  }

  #parts = PARTS.map(([name]) => ({ name, part: make('span', `fh-part fh-${name}`) }));
  #figures = FIGURES.map(([name, label]) => {
    const shown = make('dd', 'fh-value');
    return { name, shown, group: make('div', `fh-figure fh-${name}`, make('dt', '', label), shown) };
  });
  bar = make('div', 'fh-stack', ...this.#parts.map(({ part }) => part));
  figures = make('dl', 'fh-figures', ...this.#figures.map(({ group }) => group));

  /** @param {Counts} counts */
  show(counts) {
    const all = Math.max(1, counts.served + counts.refused + counts.failed + counts.waiting);
    let before = 0;
    for (const { name, part } of this.#parts) {
      // A transform moves nothing in the layout, however often it changes.
      part.style.transform = `translateX(${(100 * before) / all}%) scaleX(${counts[name] / all})`;
      before += counts[name];
    }
    for (const { name, shown } of this.#figures) {
      say(shown, counts[name].toLocaleString('en'));
      shown.toggleAttribute('data-none', counts[name] === 0);
    }
  }
}
