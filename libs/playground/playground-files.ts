import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';

export interface PlaygroundFile {
  readonly type: string;
  readonly text: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Of the built files: the folder that holds `libs`. Paths of files are those below it, here and in URLs. */
const ROOT = new URL('../../', import.meta.url);

const PAGE = 'libs/playground/page/index.html';
/** An `href` or `src` of the page. */
const LINK = /(?:href|src)="(libs\/[^"]+)"/g;
/** What a compiled module imports, also over several lines. */
const IMPORT = /^((?:import|export)\b[^'";]*?from\s+')([^']+)(';?)$/gm;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;
const PACKAGES = 'packages/';

/**
 * Reads the page and everything that it loads, once, so that no client's path reaches the file system: a browser runs the modules
 * of the page and of the library as they were compiled. The page itself has the name `''`.
 *
 * @throws Error when a file is missing: the application was not built
 */
export function readPlaygroundFiles(): ReadonlyMap<string, PlaygroundFile> {
  const files = new Map<string, PlaygroundFile>();
  const page = read(PAGE);
  files.set('', { type: TYPES['.html']!, text: page });
  const wanted = Array.from(page.matchAll(LINK), ([, path]) => path!);
  for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
    if (files.has(path)) continue;
    let text = path.startsWith(PACKAGES) ? readPackage(path) : read(path);
    if (extname(path) === '.js') {
      text = text.replace(SOURCE_MAP, '').replaceAll(IMPORT, (_, before: string, name: string, after: string) => {
        const imported = pathOf(name, path);
        wanted.push(imported);
        return `${before}${relative(path, imported)}${after}`;
      });
    }
    files.set(path, { type: TYPES[extname(path)]!, text });
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
