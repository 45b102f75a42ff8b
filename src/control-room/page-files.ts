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

/** Files of the page. The build copies them beside the compiled modules. */
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
  'overrides.js',
  'pictures.js',
  'send.js',
  'status.js',
];

/** Files of packages, by the name under which the page loads them. */
const FOREIGN = { 'uplot.js': 'uplot/dist/uPlot.esm.js', 'uplot.css': 'uplot/dist/uPlot.min.css' };

/**
 * Reads all files of the page once, so that no client's path reaches the file system.
 *
 * @throws Error when a file is missing
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
