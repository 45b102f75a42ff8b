import { make } from '../../palette/elements.js';
import { byId, shown, shownTime } from './dom.js';

/** @typedef {import('../stage/surge-tick.js').Sample} Sample */

const ROWS = 10;

/**
 * The last seconds of both charts, for those who cannot see them.
 *
 * @param {readonly (readonly Sample[])[]} worlds
 */
export function tabulate(worlds) {
  const details = /** @type {HTMLDetailsElement} */ (byId('world-figures'));
  if (!details.open) return;
  const last = Math.floor(Math.max(0, ...worlds.map((samples) => samples.at(-1)?.atMs ?? 0)) / 1000);
  const rows = [];
  for (let second = last; second > last - ROWS && second >= 0; second--) {
    const head = make('th', '', String(second));
    head.scope = 'row';
    const cells = worlds.flatMap((samples) => {
      const sample = samples.findLast(({ atMs }) => Math.floor(atMs / 1000) === second);
      if (sample === undefined) return ['–', '–', '–', '–'];
      const { served, refused, failed, p99Ms } = sample;
      return [shown(served), shown(refused), shown(failed), p99Ms === null ? '–' : shownTime(p99Ms)];
    });
    rows.push(make('tr', '', head, ...cells.map((cell) => make('td', '', cell))));
  }
  details.querySelector('tbody')?.replaceChildren(...rows);
}
