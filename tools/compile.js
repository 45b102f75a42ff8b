// Compiles the application and the surge for `npm start` and `npm run surge` in about a second: to JavaScript, without a check of types,
// which `npm run typecheck` does. `nest build` takes 25 seconds of CPU for both.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from '@swc/core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A folder of its own: the files of `nest build` in `dist` stay as they are. */
const TARGET = join(ROOT, 'dist/compiled');
const FOLDERS = ['libs/floodgate/src', 'libs/nest/src', 'demo', 'lab', 'src', 'tools'];
/** Where the packages' names lead to: outside of this folder they are found in node_modules, as users have them. */
const PACKAGES = { floodgate: 'libs/floodgate/src', 'nestjs-floodgate': 'libs/nest/src' };

const OPTIONS = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: true,
  swcrc: false,
};

const IMPORT = /(from |import\()(["'])(floodgate|nestjs-floodgate)(?:\/([\w-]+))?\2/g;

/** Compiles all. Returns the URL of a compiled module, such as that of `src/main`. */
export async function compile() {
  const written = new Set();
  const write = (target, content) => {
    written.add(target);
    mkdirSync(dirname(target), { recursive: true });
    // A process that runs these files, and another one that compiles them, never see half a file.
    if (existsSync(target) && readFileSync(target).equals(Buffer.from(content))) return;
    writeFileSync(`${target}.${process.pid}`, content);
    renameSync(`${target}.${process.pid}`, target);
  };
  await Promise.all(
    FOLDERS.flatMap(filesIn).map(async (path) => {
      const target = join(TARGET, relative(ROOT, path));
      const source = readFileSync(path);
      if (!path.endsWith('.ts')) return write(target, source);
      const name = target.slice(0, -3);
      const { code, map } = await transform(source.toString(), { ...OPTIONS, filename: path });
      write(`${name}.js`, `${withPackages(code, target)}//# sourceMappingURL=${name.split('/').at(-1)}.js.map\n`);
      write(`${name}.js.map`, map);
    }),
  );
  // A module that was deleted must not stay. What ends with a number, another process is writing.
  for (const path of filesIn(relative(ROOT, TARGET))) {
    if (!written.has(path) && !/\.\d+$/.test(path)) rmSync(path, { force: true });
  }
  return (module) => pathToFileURL(join(TARGET, `${module}.js`)).href;
}

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:spec|d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function withPackages(code, target) {
  return code.replaceAll(IMPORT, (_, before, quote, name, entry = 'index') => {
    const found = relative(dirname(target), join(TARGET, PACKAGES[name], `${entry}.js`)).replaceAll('\\', '/');
    return `${before}${quote}${found.startsWith('.') ? '' : './'}${found}${quote}`;
  });
}
