import type { Kind, Mark, Row } from './scene.js';

/*
 * A picture is SVG of 100 by 100 units, stretched to whatever size the page has: lines keep their width, and a dot is a line without a
 * length. Words are HTML over it.
 */

/** In the order of drawing. */
export const KINDS = ['waiting', 'served', 'refused', 'failed'] as const satisfies readonly Kind[];

/** A place across the picture, 0 to 100. */
export function across({ width }: Row, x: number): number {
  return round((100 * x) / width);
}

/** A place from the top of the picture, 0 to 100. */
export function down({ bottom, top }: Row, y: number): number {
  return round((100 * (top - y)) / (top - bottom));
}

/** What has become of a request at a second of the film; undefined before it comes. */
export function kindAt({ at, until, kind }: Mark, now: number): Kind | undefined {
  if (at > now) return undefined;
  return until > now ? 'waiting' : kind;
}

/** The requests of each kind at a second of the film. */
export function countsOf({ marks }: Row, now: number): Readonly<Record<Kind, number>> {
  const counts = { waiting: 0, served: 0, refused: 0, failed: 0 };
  for (const mark of marks) {
    const kind = kindAt(mark, now);
    if (kind !== undefined) counts[kind]++;
  }
  return counts;
}

/** A path with a dot for each request of a kind at a second of the film. */
export function dotsOf(row: Row, kind: Kind, now: number): string {
  return row.marks
    .filter((mark) => kindAt(mark, now) === kind)
    .map(({ at, x, y }) => `M${across(row, x)} ${down(row, kind === 'waiting' ? Math.min(now - at, y) : y)}h.01`)
    .join('');
}

/** The area below the level, up to a second of the film. */
export function levelOf(row: Row, now: number): string {
  const seen = (row.level ?? []).filter(([x]) => x <= now);
  const [last] = seen.at(-1) ?? [];
  if (last === undefined) return '';
  const floor = down(row, 0);
  const line = seen.map(([x, y]) => `${across(row, x)} ${down(row, y)}`).join('L');
  return `M0 ${floor}L${line}L${across(row, last)} ${floor}Z`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
