// `npm run build:playground [-- --out DIR]` and `npm run build:hero`: write a page as static files, for any host, any folder, and no
// host at all (`file://`). They bundle what `nest build` has compiled: the same modules that the application serves.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Format } from 'esbuild';
import { optionsOf } from './command-line.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BUILT = join(ROOT, 'dist');
/** The pages, each with the module that other pages import, if there is one. */
const PAGES: Readonly<Record<string, string | undefined>> = { playground: undefined, hero: 'hero.js' };
/** A style sheet or a picture. */
const HREF = /(href|src)="(demo\/[^"]+\.(?:css|svg))"/g;
/** What only the application has, such as the control room: one line of the page each. */
const SERVED = /^.*\bdata-served\b.*\n/gm;
const FONT = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';
/** Browsers load no module from `file://`. A deferred script runs at the same time as a module. */
const MODULE = /<script type="module" src="([^"]+)">/;

// The scripts of package.json name it.
const [name = ''] = process.argv.splice(2, 1);
if (!Object.hasOwn(PAGES, name)) throw new Error(`the page is "${name}", expected ${Object.keys(PAGES).join(' or ')}`);
const values = optionsOf(`npm run build:${name} -- [options]\n  --out DIR  the folder that is written (dist/${name})`, {
  out: { type: 'string' },
});
const out = resolve(values.out ?? join(BUILT, name));
const folder = `demo/${name}/page`;

const page = readFileSync(join(BUILT, folder, 'index.html'), 'utf8');
const main = MODULE.exec(page)?.[1];
if (main === undefined) throw new Error(`the page ${name} has no module to bundle`);
const module = PAGES[name];
const script = `${module === undefined ? name : 'main'}.js`;
mkdirSync(out, { recursive: true });
await bundle(main, script, 'iife');
if (module !== undefined) await bundle(`${folder}/${module}`, module, 'esm');
for (const [, , path] of page.matchAll(HREF)) cpSync(join(BUILT, path!), join(out, basename(path!)));
if (page.includes('demo/palette/font.css'))
  cpSync(createRequire(import.meta.url).resolve(FONT), join(out, basename(FONT)));
const html = page
  .replaceAll(SERVED, '')
  .replaceAll(HREF, (_, attribute: string, path: string) => `${attribute}="${basename(path)}"`)
  .replace(MODULE, `<script defer src="${script}">`);
writeFileSync(join(out, 'index.html'), html);
console.log(`The ${name} is in ${relative(process.cwd(), out) || '.'}: open index.html`);

async function bundle(entry: string, file: string, format: Format): Promise<void> {
  await build({
    entryPoints: [join(BUILT, entry)],
    outfile: join(out, file),
    bundle: true,
    format,
    platform: 'browser',
    target: 'es2023',
    minify: true,
    // Messages name the library's classes.
    keepNames: true,
    logLevel: 'warning',
  });
}
