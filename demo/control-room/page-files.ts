import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname } from 'node:path';
import { readModules } from '../playground/playground-files.js';

export interface PageFile {
  readonly type: string;
  /** Text, or the bytes of a font. */
  readonly content: string | Buffer;
  /** The value of `Cache-Control`. */
  readonly caching: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
};
/** A new deployment has a new page. A font stays what it is. */
const CACHING = { text: 'no-cache', font: 'public, max-age=2592000' };

/** Files that other pages have as well. The build copies all of them beside the compiled modules. */
const SHARED = [
  ...['palette.css', 'font.css', 'frame.css', 'icon.svg', 'elements.js'].map((name) => `../palette/${name}`),
  ...['hero.css', 'colors.js', 'picture.js', 'tally.js'].map((name) => `../hero/page/${name}`),
];

/** Files of packages, by the name under which the page loads them. */
const FOREIGN = {
  'inter-latin-wght-normal.woff2': '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
};

/**
 * Reads all files of the page once, so that no client's path reaches the file system.
 *
 * @throws Error when a file is missing
 */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const require = createRequire(import.meta.url);
  const page = new URL('page/', import.meta.url);
  const names = readdirSync(page).filter((name) => extname(name) in TYPES);
  const own = [
    ...names.map((name) => new URL(name, page)),
    ...SHARED.map((path) => new URL(path, import.meta.url)),
  ].map((url) => [basename(url.pathname), url] as const);
  const foreign = Object.entries(FOREIGN).map(([name, path]) => [name, require.resolve(path)] as const);
  return new Map([...own, ...foreign].map(([name, path]) => [name, readPageFile(name, path)]));
}

function readPageFile(name: string, path: string | URL): PageFile {
  const type = TYPES[extname(name)]!;
  if (extname(name) === '.woff2') return { type, content: readFileSync(path), caching: CACHING.font };
  // All files of the page lie in one folder.
  const content = readFileSync(path, 'utf8').replaceAll(/'\.\.\/\.\.\/(?:hero\/page|palette)\//g, "'./");
  return { type, content, caching: CACHING.text };
}

/** The simulation at the top of the page, a module that other pages load as well. */
const HERO = 'demo/hero/page/hero.js';

/**
 * Reads the compiled modules of the simulation. The page has all files in one folder, where `demo/hero/page/hero.js` is
 * `demo~hero~page~hero.js`.
 *
 * @throws Error when a module is missing: the application was not built
 */
export function readHeroFiles(): ReadonlyMap<string, PageFile> {
  const flat = (path: string): string => path.replaceAll('/', '~');
  return new Map(
    [...readModules([HERO], (_, to) => `./${flat(to)}`)].map(([path, file]) => [flat(path), file] as const),
  );
}
