import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { Application, LIBRARY } from './support/packed.js';

const PEERS = [
  '@nestjs/common',
  '@nestjs/core',
  'reflect-metadata',
  'rxjs',
  'ioredis',
  'uid',
  'iterare',
  '@types/node',
  'undici-types',
];
const OPTIONS: ts.CompilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: false,
  experimentalDecorators: true,
  target: ts.ScriptTarget.ES2022,
  types: ['node'],
};
const NODE16 = { module: ts.ModuleKind.Node16 };
const NODENEXT = { module: ts.ModuleKind.NodeNext };
const BUNDLER = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };

let application: Application;

beforeAll(() => {
  application = new Application(PEERS);
});
afterAll(() => application.delete());

/** The problems of files, each with the file's text from where it stands. */
function problemsOf(
  files: readonly string[],
  options: ts.CompilerOptions,
): { readonly file: string; readonly at: string; readonly message: string }[] {
  const program = ts.createProgram([...files], {
    ...OPTIONS,
    typeRoots: [`${application.folder}/node_modules/@types`],
    ...options,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => ({
    file: file?.fileName.slice(application.folder.length + 1) ?? '',
    at: file?.text.slice(start).split('\n')[0] ?? '',
    message: typeof messageText === 'string' ? messageText : messageText.messageText,
  }));
}

describe('the types of the package, without skipLibCheck', () => {
  const USE = `
    import { RateLimit, RateLimitGuard, RateLimitModule, type TokenBucketPolicy } from 'nestjs-floodgate';
    import { resetLimits } from 'nestjs-floodgate/testing';
    import { ThrottlerModule } from 'nestjs-floodgate/throttler';
    class Own extends RateLimitGuard {}
    const policy: TokenBucketPolicy = { algorithm: 'token-bucket', capacity: 1, refill: 1 };
    class Controller { @RateLimit(policy) get() { return 1; } }
    export const all = [Own, Controller, RateLimitModule.forRoot({ defaults: [policy] }), ThrottlerModule.forRoot([]), resetLimits];`;

  it.each([
    ['node16, an ES module', 'mts', NODE16],
    ['node16, CommonJS', 'cts', NODE16],
    ['nodenext, an ES module', 'mts', NODENEXT],
    ['nodenext, CommonJS', 'cts', NODENEXT],
    ['bundler', 'ts', BUNDLER],
  ])('compile: %s', (_, extension, options) => {
    const file = application.write(`use.${extension}`, USE);
    expect(problemsOf([file], options)).toEqual([]);
  });

  it('compile with exactOptionalPropertyTypes, and their options take undefined', () => {
    const file = application.write(
      'exact.mts',
      `${USE}
      import type { Policy, RateLimiter, RateLimitModuleOptions } from 'nestjs-floodgate';
      export const options: RateLimitModuleOptions = { redis: undefined, deadline: undefined, onDecision: undefined };
      export const window: Policy = { algorithm: 'fixed-window', limit: 1, window: '1d', name: undefined, by: undefined };
      export const consume = (limiter: RateLimiter) => limiter.consume('x', null, { cost: undefined, plan: undefined });`,
    );
    expect(problemsOf([file], { ...NODENEXT, exactOptionalPropertyTypes: true })).toEqual([]);
  });

  it('are of one copy for both formats', () => {
    for (const entry of LIBRARY.entries) {
      expect(LIBRARY.textOf(`dist/${entry}.d.ts`)).toBe(`export * from './${entry}.cjs';\n`);
    }
    expect(LIBRARY.files.filter((file) => file.endsWith('.d.ts'))).toHaveLength(LIBRARY.entries.length);
  });
});

/** A mistake, the text where the compiler points, and the first line that it says. */
const MISTAKES: readonly (readonly [code: string, at: string, message: string])[] = [
  [
    `RateLimit({ algorithm: 'token-bucket', capcity: 10, refill: 1 })`,
    'capcity:',
    `Object literal may only specify known properties, but 'capcity' does not exist in type 'TokenBucketPolicy'. Did you mean to write 'capacity'?`,
  ],
  [
    `RateLimit({ algorithm: 'fixed-window', limit: '5', window: '1m' })`,
    'limit:',
    `Type 'string' is not assignable to type 'number'.`,
  ],
  [
    `RateLimit({ limit: 5, ttl: 60_000 })`,
    'ttl:',
    `Object literal may only specify known properties, and 'ttl' does not exist in type 'TokenBucketPolicy | LeakyBucketPolicy | FixedWindowPolicy | SlidingWindowLogPolicy | SlidingWindowCounterPolicy | ConcurrencyPolicy | (PolicyFunction & NoPolicy) | (PolicyChoice & NoPolicy)'.`,
  ],
  [
    `RateLimitModule.forRoot({ policies: { api: { algorithm: 'sliding-window', limit: 5, window: '1m' } } })`,
    'algorithm:',
    `Type '"sliding-window"' is not assignable to type '"token-bucket" | "leaky-bucket" | "fixed-window" | "sliding-window-log" | "sliding-window-counter" | "concurrency"'. Did you mean '"sliding-window-log"'?`,
  ],
  [
    `RateLimitModule.forRoot({ polices: {} })`,
    'polices:',
    `Object literal may only specify known properties, but 'polices' does not exist in type 'RateLimitModuleOptions & Partial<RateLimitModuleExtras>'. Did you mean to write 'policies'?`,
  ],
  [
    `RateLimit({ algorithm: 'token-bucket', capacity: 10, refill: 1, onStoreFailure: 'opn' })`,
    'onStoreFailure:',
    `Type '"opn"' is not assignable to type 'OnStoreFailure | undefined'. Did you mean '"open"'?`,
  ],
];

it('the first line that the compiler says of a usual mistake names the option, and the right one where it can', () => {
  const files = MISTAKES.map(([code], i) =>
    application.write(
      `mistake-${10 + i}.mts`,
      `import { RateLimit, RateLimitModule } from 'nestjs-floodgate';\n${code};\n`,
    ),
  );
  const said = problemsOf(files, NODENEXT);
  const expected = MISTAKES.map(([, at, message], i) => ({
    file: `mistake-${10 + i}.mts`,
    at: expect.stringMatching(`^${at}`),
    message,
  }));
  expect(said).toEqual(expected);
});

it('no name of a type has a number that the build gave it', () => {
  const types = LIBRARY.files.filter((file) => /\.d\.c?ts$/.test(file));
  expect(types.filter((file) => /\w\$\d/.test(LIBRARY.textOf(file)))).toEqual([]);
});
