// Lets `node --import` run the TypeScript of this repository as Jest does: with decorators, `.js` for `.ts`, and the packages by
// their names. Compiled files stay in a folder of node_modules: a test may start twenty processes.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const ROOT = new URL('../../', import.meta.url);
const LIBRARIES = new URL('libs/', ROOT).href;
/** The packages of this repository, which are loaded from their sources. */
const FOLDERS = { floodgate: 'floodgate', 'nestjs-floodgate': 'nest', 'floodgate-client': 'client' };
const ENTRY = new RegExp(`^(${Object.keys(FOLDERS).join('|')})(?:/([\\w-]+))?$`);
/** With TEST_REDIS_CLIENT=redis, what a spec gives of ioredis becomes what an application with node-redis would give. */
const AS_NODE_REDIS =
  process.env.TEST_REDIS_CLIENT === 'redis'
    ? {
        '../../stores/redis/clients/open-redis.js': new URL('test/support/node-redis/open-redis.ts', ROOT).href,
        './clients/adapters.js': new URL('test/support/node-redis/adapters.ts', ROOT).href,
      }
    : {};
const GLOBALS = new URL('jest/globals.js', import.meta.url).href;
const OPTIONS = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};
const require = createRequire(import.meta.url);
const CACHE = new URL('node_modules/.cache/typescript-loader/', ROOT);
const SETTINGS = JSON.stringify([OPTIONS, require('@swc/core/package.json').version]);

export function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
  const [, name, entry = 'index'] = ENTRY.exec(specifier) ?? [];
  // A copy of the repository inside of it, such as that of a mutation test, has its own library.
  const [copy] = /^.*\/\.stryker-tmp\/[^/]+\//.exec(context.parentURL) ?? [];
  const libraries = copy === undefined ? LIBRARIES : `${copy}libs/`;
  if (name !== undefined) return { url: `${libraries}${FOLDERS[name]}/src/${entry}.ts`, shortCircuit: true };
  const ours = context.parentURL?.startsWith('file:') && !context.parentURL.includes('/node_modules/');
  if (!ours || !/^\..*\.js(\?|$)/.test(specifier)) return next(specifier, context);
  const url = AS_NODE_REDIS[specifier] ?? new URL(specifier.replace(/\.js(?=\?|$)/, '.ts'), context.parentURL).href;
  // Some pages and scripts are JavaScript.
  return existsSync(new URL(url)) ? { url, shortCircuit: true } : next(specifier, context);
}

export function load(url, context, next) {
  // A query loads a module another time.
  if (!/\.ts(\?|$)/.test(url)) return next(url, context);
  return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
}

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  // All that the output depends on: an entry is never stale.
  const key = createHash('sha256').update(`${SETTINGS}\0${filename}\0${source}`).digest('hex');
  const entry = new URL(`${key}.js`, CACHE);
  try {
    return readFileSync(entry, 'utf8');
  } catch {
    // Loaded only here: a process whose files are all kept does without the compiler.
    // As the package is built: Nest finds no types of the library's parameters.
    const decoratorMetadata = !filename.startsWith(fileURLToPath(LIBRARIES)) || filename.endsWith('.spec.ts');
    const transform = { legacyDecorator: true, decoratorMetadata };
    const options = { ...OPTIONS, jsc: { ...OPTIONS.jsc, transform }, filename, swcrc: false };
    const { code } = require('@swc/core').transformSync(source, options);
    // A test's temporary application has another name each time: its files would stay forever.
    if (filename.startsWith(fileURLToPath(ROOT)) && !filename.includes('/.stryker-tmp/')) keep(entry, code);
    return code;
  }
}

function keep(entry, code) {
  // Another process may read the entry meanwhile: it finds all of it, or none.
  const unfinished = new URL(`${randomUUID()}.tmp`, CACHE);
  try {
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(unfinished, code);
    renameSync(unfinished, entry);
  } catch {
    // The folder cannot be written: each process compiles.
  }
}
