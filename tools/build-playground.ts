// `npm run build:playground [-- --out DIR]`: writes the playground as static files, for any host, any folder, and no host at all
// (`file://`). It bundles what `nest build` has compiled: the same modules that the application serves.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BUILT = join(ROOT, 'dist');
const PAGE = join(BUILT, 'libs/playground/page/index.html');
const SCRIPT = 'playground.js';
/** A style sheet or a picture. */
const HREF = /(href|src)="(libs\/[^"]+\.(?:css|svg))"/g;
/** What only the application has, such as the control room: one line of the page each. */
const SERVED = /^.*\bdata-served\b.*\n/gm;
const FONT = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';
/** Browsers load no module from `file://`. A deferred script runs at the same time as a module. */
const MODULE = /<script type="module" src="([^"]+)">/;

const { values } = parseArgs({ options: { out: { type: 'string', default: join(BUILT, 'playground') } } });
const out = resolve(values.out);

const page = readFileSync(PAGE, 'utf8');
const main = MODULE.exec(page)?.[1];
if (main === undefined) throw new Error(`${PAGE} has no module to bundle`);
mkdirSync(out, { recursive: true });
await build({
  entryPoints: [join(BUILT, main)],
  outfile: join(out, SCRIPT),
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target: 'es2023',
  minify: true,
  // Messages name the library's classes.
  keepNames: true,
  logLevel: 'warning',
});
for (const [, , path] of page.matchAll(HREF)) cpSync(join(BUILT, path!), join(out, basename(path!)));
const font = createRequire(import.meta.url).resolve(FONT);
cpSync(font, join(out, basename(font)));
const html = page
  .replaceAll(SERVED, '')
  .replaceAll(HREF, (_, attribute: string, path: string) => `${attribute}="${basename(path)}"`)
  .replace(MODULE, `<script defer src="${SCRIPT}">`);
writeFileSync(join(out, 'index.html'), html);
console.log(`The playground is in ${relative(process.cwd(), out) || '.'}: open index.html`);
