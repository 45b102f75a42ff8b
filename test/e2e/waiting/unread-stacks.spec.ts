import { Controller, Get } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit, type RateLimitModuleOptions, RateLimitStoreError, userIdentity } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';

const ONE = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '300d' } as const;

@Controller()
class Routes {
  @Get()
  @RateLimit(ONE)
  get(): void {}

  @Get('mine')
  @RateLimit({ ...ONE, name: 'mine', by: 'user' })
  mine(): void {}
}

const REQUESTS = 5;

/** A store that fails as one of an application may. */
const FAILING = { consume: () => Promise.reject(new RateLimitStoreError('away')), reset: () => Promise.resolve() };

const ANSWERS: readonly (readonly [name: string, status: number, options: RateLimitModuleOptions, path?: string])[] = [
  ['a 429', 429, {}],
  ['a 503', 503, { store: FAILING, onStoreFailure: 'closed' }],
  ['a 403', 403, { blockList: ['127.0.0.1', '::1'] }],
  ['a 401', 401, { identity: [userIdentity()], onMissingIdentity: 'reject' }, '/mine'],
  ['a decision without Redis', 429, { redis: 'redis://127.0.0.1:1', denialCache: 0 }],
  ['a store that is too slow', 429, { store: { ...FAILING, consume: () => new Promise<never>(() => undefined) } }],
];

// V8 makes the text of a stack when it is read first: 10 us for a decision of 2 us, and 300 us with source maps.
describe('nobody makes the text of a stack', () => {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  let stacks: string[] = [];

  beforeEach(() => {
    stacks = [];
    Error.prepareStackTrace = (error) => {
      // A connection attempt fails beside the requests, and Redis's client reads that error.
      if ((error as NodeJS.ErrnoException).syscall !== 'connect') stacks.push(String(error));
      return String(error);
    };
  });

  afterEach(() => {
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    if (before !== undefined) Object.defineProperty(Error, 'prepareStackTrace', before);
  });

  it.each(ANSWERS)('for %s', async (_, status, options, path = '/') => {
    await using app = await limited('Express', Routes, options);
    await app.send(path);
    await app.send(path);
    stacks = [];
    for (let i = 0; i < REQUESTS; i++) expect(await app.send(path)).toMatchObject({ status });
    expect(stacks).toEqual([]);
  });
});
