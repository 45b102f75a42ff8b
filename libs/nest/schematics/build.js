// Builds the schematics of the package, which `nest add` runs, into its dist: one CommonJS file without dependencies for each. The
// command line of Nest loads them with `require`, and brings what they run on.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await build({
  entryPoints: [here('nest-add/index.ts')],
  outfile: here('../dist/schematics/nest-add.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  minify: true,
  logLevel: 'warning',
});
for (const [from, to] of [
  ['collection.json', 'collection.json'],
  ['nest-add/schema.json', 'nest-add.schema.json'],
]) {
  writeFileSync(here(`../dist/schematics/${to}`), JSON.stringify(JSON.parse(readFileSync(here(from), 'utf8'))));
}
