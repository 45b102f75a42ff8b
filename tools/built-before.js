// Tells a build whether its output is what the same sources have given before: `npm run build`, the benches, `npm pack` and the tests of
// the package all build the same packages.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
/** `npm ci` empties it. */
const CACHE = join(REPOSITORY, 'node_modules/.cache/built-before');
/** What the code and the types of each package depend on: all sources, what compiles them, and the versions of all other packages. */
const INPUTS = [
  ...['libs/floodgate', 'libs/nest', 'libs/client'].flatMap((folder) =>
    ['src', 'package.json', 'tsconfig.lib.json'].map((name) => `${folder}/${name}`),
  ),
  'tools/build-package.js',
  'tools/built-before.js',
  'tsconfig.json',
  'package-lock.json',
];

/** A hash of the sources as they are. A build takes it first: who changes a source meanwhile gets another build. */
export function inputsNow() {
  return hashOf(INPUTS.map((path) => join(REPOSITORY, path)));
}

/** @param root the folder of a package, which has its output in `dist` */
export function isBuilt(root, inputs) {
  try {
    return readFileSync(fileOf(root), 'utf8') === stateOf(root, inputs);
  } catch {
    return false; // Nothing is recorded, or there is no output.
  }
}

/** Records that `dist` is the output of these inputs. */
export function recordBuilt(root, inputs) {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(fileOf(root), stateOf(root, inputs));
}

function fileOf(root) {
  return join(CACHE, basename(root));
}

/** The output counts as well: a file of it that is missing, changed or new asks for a build. */
function stateOf(root, inputs) {
  return `${inputs} ${hashOf([join(root, 'dist')])}`;
}

function hashOf(paths) {
  const hash = createHash('sha256').update(process.version);
  for (const file of paths.flatMap(filesIn)) hash.update(`\0${file}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

/** The files of a folder without the schematics, which have a build of their own, or the file itself. */
function filesIn(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .filter((name) => name !== 'schematics')
    .toSorted()
    .flatMap((name) => filesIn(join(path, name)));
}
