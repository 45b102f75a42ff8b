import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from './config-error.js';
import { withHelp } from './error-codes.js';
import { optionalPackageError } from './optional-package.js';

const PACKAGE = { name: 'ioredis', where: 'RateLimitModule, redis', versions: '^5.4.2 || ^6.0.0' };

const notInstalled =
  'RateLimitModule, redis: needs the package ioredis, which is not installed: npm install "ioredis@^5.4.2 || ^6.0.0"';
const broken =
  'RateLimitModule, redis: needs the package ioredis (^5.4.2 || ^6.0.0), which is installed but cannot be loaded: ';

const failure = (message: string, code: string): Error => Object.assign(new Error(message), { code });

describe('a package that cannot be loaded', () => {
  it.each([
    ['an import in Node', "Cannot find package 'ioredis' imported from /app/dist/index.js", 'ERR_MODULE_NOT_FOUND'],
    ['a require in Node', "Cannot find module 'ioredis'\nRequire stack:\n- /app/dist/index.cjs", 'MODULE_NOT_FOUND'],
    ['Jest', "Cannot find module 'ioredis' from 'node_modules/nestjs-floodgate/dist/index.cjs'", 'MODULE_NOT_FOUND'],
    [
      "Yarn's PnP",
      'nestjs-floodgate tried to access ioredis (a peer dependency) but it is not provided by your application',
      'MODULE_NOT_FOUND',
    ],
  ])('is not installed, as %s says', (_, message, code) => {
    const error = failure(message, code);
    const made = optionalPackageError(error, PACKAGE);
    expect(made).toBeInstanceOf(RateLimitConfigError);
    expect(made.message).toBe(withHelp(notInstalled, 'FG_MISSING_PACKAGE'));
    expect(made.cause).toBe(error);
  });

  it.each([
    [
      'lacks a dependency of its own',
      'ERR_MODULE_NOT_FOUND',
      "Cannot find package 'denque' imported from /app/node_modules/ioredis/index.js",
    ],
    [
      'is an ES module in an older Node',
      'ERR_REQUIRE_ESM',
      'require() of ES Module /app/node_modules/ioredis/index.js not supported',
    ],
  ])('%s, and the message gives the reason', (_, code, message) => {
    expect(optionalPackageError(failure(message, code), PACKAGE).message).toBe(
      withHelp(broken + message, 'FG_MISSING_PACKAGE'),
    );
  });

  it('may throw anything while it loads', () => {
    expect(optionalPackageError('no reason', PACKAGE).message).toBe(
      withHelp(`${broken}no reason`, 'FG_MISSING_PACKAGE'),
    );
    expect(optionalPackageError(undefined, PACKAGE).message).toBe(withHelp(`${broken}undefined`, 'FG_MISSING_PACKAGE'));
  });
});

it('is what a real import of a missing package is told apart by', async () => {
  const name = 'a-package-that-nobody-installs';
  const error: unknown = await import(name).catch((reason: unknown) => reason);
  expect(optionalPackageError(error, { ...PACKAGE, name }).message).toContain('which is not installed');
});
