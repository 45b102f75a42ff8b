import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';

/** The figures that a change may not raise unseen. `npm run figures` writes it. */
const FILE = fileURLToPath(new URL('../figures.json', import.meta.url));
/** The part by which a figure may grow before it is committed anew. */
const TOLERANCE = 0.02;

export type Figures = Readonly<Record<string, number>>;

/** The figures that grew beyond what is committed, a sentence for each. */
export function grown(group: string, measured: Figures, committed: Figures): string[] {
  return Object.entries(measured).flatMap(([name, figure]) => {
    const before = committed[name];
    if (before === undefined) return [`${group}, ${name}: it is ${figure}, and no figure is committed`];
    if (figure <= before * (1 + TOLERANCE)) return [];
    const percent = (((figure - before) / before) * 100).toFixed(1);
    return [`${group}, ${name}: it is ${figure}, ${percent} % above the ${before} of test/figures.json`];
  });
}

/**
 * Expects that figures have not grown beyond those of test/figures.json. With WRITE_FIGURES=1 it writes them instead.
 *
 * @param group such as `lines`
 */
export function expectFigures(group: string, measured: Figures): void {
  const committed = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Figures>) : {};
  if (process.env['WRITE_FIGURES'] === '1') {
    writeFileSync(FILE, `${JSON.stringify({ ...committed, [group]: measured }, undefined, 2)}\n`);
    return;
  }
  // A change that has to raise one runs `npm run figures`, and its commit says why.
  expect(grown(group, measured, committed[group] ?? {})).toEqual([]);
}
