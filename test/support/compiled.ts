import { fileURLToPath } from 'node:url';

/** It is JavaScript. */
const COMPILE = new URL('../../tools/compile.js', import.meta.url).href;

let compiling: Promise<(module: string) => string> | undefined;

/**
 * The path of a program of this repository, such as `src/main`, compiled as `npm start` and `npm run surge` do it. Its process takes
 * two thirds of the CPU of one that compiles while it loads.
 */
export async function compiled(module: string): Promise<string> {
  compiling ??= compileAll();
  return fileURLToPath((await compiling)(module));
}

async function compileAll(): Promise<(module: string) => string> {
  const { compile } = (await import(COMPILE)) as { readonly compile: () => Promise<(module: string) => string> };
  return compile();
}
