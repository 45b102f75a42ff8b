import { byId, make, shown, shownTime } from './dom.js';

/** @typedef {import('./worlds.js').RunPoint} RunPoint */

const ROWS = 10;

/**
 * The last seconds of both charts, for those who cannot see them.
 *
 * @param {readonly (readonly RunPoint[])[]} worlds
 */
export function tabulate(worlds) {
  const details = /** @type {HTMLDetailsElement} */ (byId('world-figures'));
  if (!details.open) return;
  const last = Math.floor(Math.max(0, ...worlds.map((points) => points.at(-1)?.at ?? 0)));
  const rows = [];
  for (let second = last; second > last - ROWS && second >= 0; second--) {
    const head = make('th', '', String(second));
    head.scope = 'row';
    const cells = worlds.flatMap((points) => {
      const sample = points.findLast(({ at }) => at >= second && at < second + 1)?.sample;
      if (sample === undefined) return ['–', '–', '–', '–'];
      const { served, refused, failed, p99Ms } = sample;
      return [shown(served), shown(refused), shown(failed), p99Ms === null ? '–' : shownTime(p99Ms)];
    });
    rows.push(make('tr', '', head, ...cells.map((cell) => make('td', '', cell))));
  }
  details.querySelector('tbody')?.replaceChildren(...rows);
}
