// Builds the package of the working folder into its dist: every entry point as an ES module and as CommonJS, each with its types.
// Within one format the entry points share chunks, so that each class exists once. Sources of another package of this repository are
// included, and so are its devDependencies, which npm does not install for its users.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import commonjs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const ROOT = process.cwd();
const DIST = join(ROOT, 'dist');
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The output of tsc: each source as a module and its declarations, without what is `@internal`. */
const COMPILED = join(DIST, 'compiled');
const SOURCES = join(COMPILED, basename(ROOT), 'src');
/** Says in what format it was built. */
const COPIES = join(COMPILED, 'rate-limit/src/nest/module/copies.js');

rmSync(DIST, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.lib.json', '--outDir', COMPILED], { cwd: ROOT, stdio: 'inherit' });

const code = await rollup({
  input: entries('.js'),
  external: isPackage,
  plugins: [sourceMaps(), requireOptionalPackages(), nodeResolve(), commonjs({ include: /node_modules/ })],
  onLog,
});
await code.write(output('es', '.js'));
await code.write(output('cjs', '.cjs'));
await code.close();

const types = await rollup({ input: entries('.d.ts'), external: isPackage, plugins: [dts()], onLog });
await types.write(output('es', '.d.ts'));
await types.write(output('es', '.d.cts'));
await types.close();

rmSync(COMPILED, { recursive: true });

/** By the name of an entry point's file in dist, the compiled file it begins with. */
function entries(extension) {
  const names = Object.keys(MANIFEST.exports).flatMap((path) => /^\.\/(\w+)$/.exec(path)?.[1] ?? []);
  const files = [['index', 'index'], ...names.map((name) => [name, `${name}/index`])];
  return Object.fromEntries(
    files.map(([name, file]) => [name, join(SOURCES, `${file}${extension}`)]).filter(([, file]) => existsSync(file)),
  );
}

function isPackage(specifier) {
  return !/^[./\0]/.test(specifier) && MANIFEST.devDependencies?.[specifier] === undefined;
}

function output(format, extension) {
  return {
    dir: DIST,
    format,
    entryFileNames: `[name]${extension}`,
    chunkFileNames: `shared/[name]-[hash]${extension}`,
    sourcemap: !extension.startsWith('.d'),
    intro: ({ modules }) =>
      COPIES in modules ? `const FLOODGATE_FORMAT = '${format === 'cjs' ? 'CommonJS' : 'ES module'}';` : '',
    // Node does this, too, for an ES module that imports CommonJS: the default is `module.exports`.
    interop: 'default',
    exports: 'named',
  };
}

/** Passes on tsc's source maps, so that the maps of the package lead to the TypeScript sources, which they contain. */
function sourceMaps() {
  return {
    name: 'source-maps',
    load(file) {
      if (!existsSync(`${file}.map`)) return null;
      return { code: readFileSync(file, 'utf8'), map: JSON.parse(readFileSync(`${file}.map`, 'utf8')) };
    },
  };
}

/**
 * Makes an `import()` of an optional package a `require()` in CommonJS, on the spot: rollup's own replacement moves it into a
 * function, out of the `try` that tells bundlers that the package may be missing. See src/util/optional-package.ts.
 */
function requireOptionalPackages() {
  return {
    name: 'require-optional-packages',
    renderDynamicImport: ({ format }) => (format === 'cjs' ? { left: 'require(', right: ')' } : null),
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
