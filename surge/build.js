// Compiles the surge and the application for `npm run surge` in less than a second: to JavaScript, without a check of types, which
// `npm run typecheck` does. `nest build` takes 25 seconds of CPU for both.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A folder of its own: the files of `nest build` in `dist` stay as they are. */
const TARGET = join(ROOT, 'dist/surge');
const FOLDERS = [
  'libs/rate-limit/src',
  'libs/control-room',
  'libs/palette',
  'libs/playground',
  'libs/processes',
  'libs/riders',
  'src',
  'surge',
  'tools',
];
const LIBRARY = join(TARGET, 'libs/rate-limit/src');

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

/** The library's name in an import: outside of this folder it is found in node_modules, as users have it. */
const IMPORT = /(from |import\()(["'])nestjs-floodgate((?:\/\w+)?)\2/g;

function compile(path, target) {
  const { code, map } = transformSync(readFileSync(path, 'utf8'), { ...OPTIONS, filename: path });
  const here = (_, before, quote, entry) => {
    const found = relative(dirname(target), join(LIBRARY, `.${entry}/index.js`)).replaceAll('\\', '/');
    return `${before}${quote}${found.startsWith('.') ? '' : './'}${found}${quote}`;
  };
  const name = target.slice(0, -3);
  writeFileSync(
    `${name}.js`,
    `${code.replaceAll(IMPORT, here)}//# sourceMappingURL=${name.split('/').at(-1)}.js.map\n`,
  );
  writeFileSync(`${name}.js.map`, map);
}

// A module that was deleted must not stay.
rmSync(TARGET, { recursive: true, force: true });
for (const folder of FOLDERS) {
  for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.(?:spec|d)\.ts$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const target = join(TARGET, relative(ROOT, path));
    mkdirSync(dirname(target), { recursive: true });
    if (path.endsWith('.ts')) compile(path, target);
    else copyFileSync(path, target);
  }
}
