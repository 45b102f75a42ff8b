// Builds the package of the working folder into its dist: every entry point as an ES module and as CommonJS, each with its types.
// Within one format the entry points share chunks, so that each class exists once. Sources of another package of this repository are
// included, and so are its devDependencies, which npm does not install for its users.
//
// What both formats can share is there once: the texts of programs (`*.generated.js`), and the types, which ES modules take from
// CommonJS. The code is twice: on Node 20.18 CommonJS cannot load Nest 12, and bundles of ES modules have no `require`. It has no
// comments and no source maps; the names of functions and classes stay, for stack traces and for Nest.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import commonjs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { minify } from '@swc/core';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { inputsNow, isBuilt, recordBuilt } from './built-before.js';

const ROOT = process.cwd();
const DIST = join(ROOT, 'dist');
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The output of tsc: each source as a module and its declarations, without what is `@internal`. */
const COMPILED = join(DIST, 'compiled');
const SOURCES = join(COMPILED, basename(ROOT), 'src');
/** The engine's entry points with names of its users that the module for Nest passes on. */
const OF_USERS = /^floodgate(?:\/(?:http|redis))?$/;
/** How chunks name a module of texts until they are written. */
const TEXTS = /(["'])texts:([\w.-]+)\1/g;

const inputs = inputsNow();
if (isBuilt(ROOT, inputs)) {
  console.log(`${MANIFEST.name}: dist is the output of these sources already`);
  process.exit();
}

/** By a module's path: made once all modules are known. */
let chunkOf;

rmSync(DIST, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.lib.json', '--outDir', COMPILED], { cwd: ROOT, stdio: 'inherit' });

const code = await rollup({
  // What it names is asked of no plugin.
  external: (specifier) => isPackage(specifier) && !OF_USERS.test(specifier),
  plugins: [
    emitEntries(),
    importOneEntry(),
    shareTexts(),
    requireLazily(),
    nodeResolve(),
    commonjs({ include: /node_modules/ }),
    shorten(),
  ],
  onLog,
});
await code.write(output('es', '.js'));
await code.write(output('cjs', '.cjs'));
await code.close();

const types = await rollup({ input: entries('.d.ts'), external: isPackage, plugins: [dts(), readableTypes()], onLog });
await types.write(output('es', '.d.cts'));
await types.close();
for (const name of Object.keys(entries('.d.ts'))) {
  writeFileSync(join(DIST, `${name}.d.ts`), `export * from './${name}.cjs';\n`);
}

rmSync(COMPILED, { recursive: true });
recordBuilt(ROOT, inputs);

/** By the name of an entry point's file in dist, the compiled file it begins with. An entry point without types has no declarations. */
function entries(extension) {
  const found = Object.entries(MANIFEST.exports).filter(
    ([, { import: file }]) => file !== undefined && (extension === '.js' || file.types !== undefined),
  );
  const names = found.map(([path]) => (path === '.' ? 'index' : path.slice(2)));
  return Object.fromEntries(names.map((name) => [name, join(SOURCES, `${name}${extension}`)]));
}

/**
 * Adds the entry points. One without types is named by another package of this repository alone: its file may export more names, so
 * it is a chunk itself, and one file less to load.
 */
function emitEntries() {
  const { exports } = MANIFEST;
  return {
    name: 'emit-entries',
    buildStart() {
      for (const [name, id] of Object.entries(entries('.js'))) {
        const isTyped = exports[name === 'index' ? '.' : `./${name}`].import.types !== undefined;
        this.emitFile({ type: 'chunk', id, name, preserveSignature: isTyped ? 'exports-only' : 'allow-extension' });
      }
    },
  };
}

/** Imports the engine's names from one of its files: each file takes time to find and to read. */
function importOneEntry() {
  return {
    name: 'import-one-entry',
    resolveId: (specifier) => (OF_USERS.test(specifier) ? { id: 'floodgate/internal', external: true } : null),
  };
}

function isPackage(specifier) {
  return specifier !== 'tslib' && !/^[./\0]/.test(specifier) && MANIFEST.devDependencies?.[specifier] === undefined;
}

function output(format, extension) {
  return {
    dir: DIST,
    format,
    entryFileNames: `[name]${extension}`,
    chunkFileNames: ({ name, facadeModuleId }) =>
      facadeModuleId === join(SOURCES, `${name}.js`) ? `[name]${extension}` : `shared/[name]-[hash]${extension}`,
    manualChunks: (id, { getModuleInfo }) => (chunkOf ??= chunksOf(getModuleInfo)).get(id),
    intro: ({ modules }) =>
      Object.keys(modules).some((id) => basename(id) === 'this-copy.js')
        ? `const FLOODGATE_FORMAT = '${format === 'cjs' ? 'CommonJS' : 'ES module'}';`
        : '',
    // Node does this, too, for an ES module that imports CommonJS: the default is `module.exports`.
    interop: 'default',
    exports: 'named',
    minifyInternalExports: true,
    // An entry point names what it uses, and copies what it passes on: each name and each getter takes time when it is loaded.
    hoistTransitiveImports: false,
    externalLiveBindings: false,
  };
}

/**
 * The chunks of the modules that several files need. Each file takes time to find and to read: what the package loads when it is
 * imported is one, what an application loads at boot another, and the store on Redis a third.
 */
function chunksOf(getModuleInfo) {
  const [index, boot, redis] = [
    ['index.js', 'internal.js', 'redis.js'],
    ['internal-boot.js', 'limiter/parts-alone.js', 'module/at-boot.js'],
    ['stores/redis/loaded-redis-store.js'],
  ].map((files) => {
    const closure = new Set();
    for (const file of files) closureOf(join(SOURCES, file), getModuleInfo, closure);
    return closure;
  });
  const named = new Map();
  for (const id of boot) named.set(id, redis.has(id) ? 'decide' : 'at-boot');
  for (const id of redis) if (!boot.has(id)) named.set(id, 'redis');
  for (const id of index) named.set(id, 'index');
  return named;
}

/** The modules that a module imports, without those that it loads later; none of a module that is not there. */
function closureOf(id, getModuleInfo, found) {
  const info = getModuleInfo(id);
  if (info === null || info.isExternal || found.has(id)) return found;
  found.add(id);
  for (const imported of info.importedIds) closureOf(imported, getModuleInfo, found);
  return found;
}

/** Puts each module of texts beside the chunks, as CommonJS, which both formats can load. */
function shareTexts() {
  const shared = new Map();
  return {
    name: 'share-texts',
    async resolveId(specifier, importer) {
      if (!specifier.endsWith('.generated.js')) return null;
      const { id } = await this.resolve(specifier, importer, { skipSelf: true });
      const name = basename(id).replace('.generated.js', '.cjs');
      shared.set(name, id);
      return { id: `texts:${name}`, external: true };
    },
    generateBundle(_, chunks) {
      for (const chunk of Object.values(chunks)) {
        const folder = dirname(chunk.fileName) === 'shared' ? '.' : './shared';
        chunk.code = chunk.code.replaceAll(TEXTS, (_text, quote, name) => `${quote}${folder}/${name}${quote}`);
      }
      for (const [name, id] of shared) {
        const source = readFileSync(id, 'utf8').replaceAll(/^export const (\w+) =/gm, 'exports.$1 =');
        this.emitFile({ type: 'asset', fileName: `shared/${name}`, source });
      }
    },
  };
}

/** Removes comments and whitespace, and shortens the names of locals. */
function shorten() {
  const keep = { keep_classnames: true, keep_fnames: true };
  return {
    name: 'shorten',
    async generateBundle({ format }, chunks) {
      const options = {
        module: format === 'es',
        compress: { ...keep, inline: 0, reduce_funcs: false },
        mangle: { ...keep, toplevel: true },
        format: { comments: false },
      };
      for (const chunk of Object.values(chunks).filter(({ type }) => type === 'chunk')) {
        // Twice: a class, whose name stays, is `let Engine = class Engine` once, and the variable has a short name then.
        const short = await minify((await minify(chunk.code, options)).code, options);
        chunk.code = inOneFile(inLines(short.code, this.parse(short.code)));
      }
    },
  };
}

/** Keeps a bundle of webpack or Rspack one file: what is loaded later is in it, and runs later. Other bundlers do so by themselves. */
function inOneFile(text) {
  return text.replaceAll(/\bimport\((?="\.)/g, 'import(/* webpackMode: "eager" */');
}

/** Breaks long lines before statements and members of classes: Node prints the whole line where an error comes from. */
function inLines(text, tree) {
  const starts = [];
  const visit = (node) => {
    if (Array.isArray(node)) node.forEach(visit);
    if (typeof node?.type !== 'string') return;
    if (['Program', 'BlockStatement', 'StaticBlock', 'ClassBody'].includes(node.type)) starts.push(...node.body);
    Object.values(node).forEach(visit);
  };
  visit(tree);
  let lines = '';
  let from = 0;
  for (const { start } of starts.toSorted((one, other) => one.start - other.start)) {
    if (start - from < 400) continue;
    lines += `${text.slice(from, start)}\n`;
    from = start;
  }
  return lines + text.slice(from);
}

/**
 * Marks the imports of packages as types, in the words that CommonJS and ES modules share: else TypeScript refuses the types of a package
 * that has ES modules alone, such as Nest 12, in CommonJS. TypeScript reads the words since 5.3. A type whose name another one has, too, is
 * the generic one behind it: messages of the compiler say `PolicyOf<ExecutionContext>`, not `Policy$1<ExecutionContext>`.
 */
function readableTypes() {
  return {
    name: 'readable-types',
    renderChunk: (declarations) =>
      declarations
        .replaceAll(/^import ([^;']+ from '[^.'][^']*');$/gm, "import type $1 with { 'resolution-mode': 'import' };")
        .replaceAll(/\b(\w+)\$1\b/g, '$1Of')
        // A doc takes no line for its beginning and its end alone.
        .replaceAll(/\/\*\*\n *\* /g, '/** ')
        .replaceAll(/\n *\*\//g, ' */')
        // One column for each level: blanks are a tenth of the types.
        .replaceAll(/^(?: {4})+/gm, (indent) => '\t'.repeat(indent.length / 4)),
  };
}

/**
 * Makes an `import()` a `require()` in CommonJS, on the spot, so that a bundle is one file. For an optional package, rollup's own
 * replacement moves it into a function, out of the `try` that tells bundlers that the package may be missing. See
 * src/util/optional-package.ts. Of a chunk of several modules, rollup takes one by `then`.
 */
function requireLazily() {
  return {
    name: 'require-lazily',
    renderDynamicImport({ format, targetModuleId }) {
      if (format !== 'cjs') return null;
      const isOwn = targetModuleId !== null && this.getModuleInfo(targetModuleId)?.isExternal === false;
      return isOwn ? { left: 'Promise.resolve(require(', right: '))' } : { left: 'require(', right: ')' };
    },
  };
}

/** A warning is an error: nobody reads the output of a build that succeeds. */
function onLog(level, log) {
  // tsc's helper for decorators begins with `this && this.__decorate`, and means it.
  if (level !== 'warn' || log.code === 'THIS_IS_UNDEFINED') return;
  // The generic types behind the public ones, such as `Policy<Context>`: users name `Policy`.
  if (log.plugin === 'dts' && log.message.includes('still references private shared type exports')) return;
  throw new Error(`rollup: ${log.message}`);
}
