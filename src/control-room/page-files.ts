import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';

export interface PageFile {
  readonly type: string;
  readonly text: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** The page's own; the build copies them beside the compiled modules. */
const OWN = [
  'index.html',
  'base.css',
  'lanes.css',
  'icon.svg',
  'main.js',
  'charts.js',
  'dom.js',
  'feed.js',
  'lane.js',
  'pictures.js',
  'send.js',
  'status.js',
];

/** Of packages, under names of their own. */
const FOREIGN = { 'uplot.js': 'uplot/dist/uPlot.esm.js', 'uplot.css': 'uplot/dist/uPlot.min.css' };

/**
 * What the page consists of, read once: nothing that a client asks for reaches the file system.
 *
 * @throws when one is missing
 */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const require = createRequire(import.meta.url);
  const own = OWN.map((name) => [name, new URL(`page/${name}`, import.meta.url)] as const);
  const foreign = Object.entries(FOREIGN).map(([name, path]) => [name, require.resolve(path)] as const);
  return new Map(
    [...own, ...foreign].map(([name, path]) => [
      name,
      { type: TYPES[extname(name)]!, text: readFileSync(path, 'utf8') },
    ]),
  );
}
