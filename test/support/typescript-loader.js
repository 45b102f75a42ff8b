// Lets `node --import` run the TypeScript of this repository as Jest does: with decorators, `.js` for `.ts`, and the library
// and the client by their names.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from '@swc/core';

if (isMainThread) register(import.meta.url);

const ROOT = new URL('../../', import.meta.url);
const LIBRARY = new URL('libs/rate-limit/src/', ROOT).href;
const CLIENT = new URL('libs/client/src/index.ts', ROOT).href;
const OPTIONS = {
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

export function resolve(specifier, context, next) {
  if (specifier === 'floodgate-client') return { url: CLIENT, shortCircuit: true };
  const [, entry] = /^nestjs-floodgate((?:\/\w+)?)$/.exec(specifier) ?? [];
  if (entry !== undefined) return { url: new URL(`.${entry}/index.ts`, LIBRARY).href, shortCircuit: true };
  const relative = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
  return next(relative ? specifier.replace(/\.js$/, '.ts') : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), { ...OPTIONS, filename, swcrc: false });
  return { format: 'module', source: code, shortCircuit: true };
}
