import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';

export interface PlaygroundFile {
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

/** Of the built files: the folder that holds `demo` and `libs`. Paths of files are those below it, here and in URLs. */
const ROOT = new URL('../../', import.meta.url);

const PAGE = 'demo/playground/page/index.html';
/** An `href` or `src` of the page. */
const LINK = /(?:href|src)="(demo\/[^"]+)"/g;
/** What a compiled module imports, also over several lines. */
const IMPORT = /^((?:import|export)\b[^'";]*?from\s+')([^']+)(';?)$/gm;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;
const PACKAGES = 'packages/';
/** Where `demo/palette/font.css` finds the typeface, which is a file of a package. */
const FONT = 'demo/palette/inter-latin-wght-normal.woff2';
const FONT_SOURCE = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';

/**
 * Reads the page and everything that it loads, once, so that no client's path reaches the file system: a browser runs the modules
 * of the page and of the library as they were compiled. The page itself has the name `''`.
 *
 * @throws Error when a file is missing: the application was not built
 */
export function readPlaygroundFiles(): ReadonlyMap<string, PlaygroundFile> {
  const files = new Map<string, PlaygroundFile>();
  const page = read(PAGE);
  files.set('', { type: TYPES['.html']!, content: page, caching: CACHING.text });
  const font = readFileSync(createRequire(import.meta.url).resolve(FONT_SOURCE));
  files.set(FONT, { type: TYPES['.woff2']!, content: font, caching: CACHING.font });
  const linked = Array.from(page.matchAll(LINK), ([, path]) => path!);
  for (const [path, file] of readModules(linked, relative)) files.set(path, file);
  return files;
}

/**
 * Reads files and, of modules, everything that they import.
 *
 * @param paths below the folder that holds `demo` and `libs`
 * @param naming what the module at `from` calls the one at `to`
 * @throws Error when a file is missing: the application was not built
 */
export function readModules(
  paths: readonly string[],
  naming: (from: string, to: string) => string,
): ReadonlyMap<string, PlaygroundFile> {
  const files = new Map<string, PlaygroundFile>();
  const wanted = [...paths];
  for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
    if (files.has(path)) continue;
    let text = path.startsWith(PACKAGES) ? readPackage(path) : read(path);
    if (extname(path) === '.js') {
      text = text.replace(SOURCE_MAP, '').replaceAll(IMPORT, (_, before: string, name: string, after: string) => {
        const imported = pathOf(name, path);
        wanted.push(imported);
        return `${before}${naming(path, imported)}${after}`;
      });
    }
    files.set(path, { type: TYPES[extname(path)]!, content: text, caching: CACHING.text });
  }
  return files;
}

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** A package in one file. Browsers know no CommonJS. */
function readPackage(path: string): string {
  const name = path.slice(PACKAGES.length, -extname(path).length);
  const text = readFileSync(createRequire(import.meta.url).resolve(name), 'utf8');
  return /\bmodule\.exports\b/.test(text)
    ? `const module = { exports: {} };\n${text}\nexport default module.exports;\n`
    : text;
}

function pathOf(name: string, importer: string): string {
  return name.startsWith('.') ? new URL(name, `file:///${importer}`).pathname.slice(1) : `${PACKAGES}${name}.js`;
}

function relative(from: string, to: string): string {
  return '../'.repeat(from.split('/').length - 1) + to;
}
