import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  MemoryStore,
  RateLimit,
  RateLimitConfigError,
  type RateLimitModuleOptions,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'one', algorithm: 'fixed-window', limit: 1, window: '300d' })
  get(): void {}
}

/** A store of the application. The module cannot tell that it decides in this process. */
function ownStore(): RateLimitStore & { readonly asked: () => number } {
  const inner = new MemoryStore();
  let asked = 0;
  return {
    consume: async (charges) => {
      asked++;
      return inner.consume(charges);
    },
    reset: (keys) => inner.reset(keys),
    asked: () => asked,
  };
}

/** A client without `duplicate`. */
function plainClient(client: Redis): RateLimitModuleOptions['redis'] {
  return {
    evalsha: (sha: string, keys: number, ...args: string[]) => client.evalsha(sha, keys, ...args),
    eval: (script: string, keys: number, ...args: string[]) => client.eval(script, keys, ...args),
    del: (key: string) => client.del(key),
  };
}

/** The message that stops the boot. */
async function bootError(options: RateLimitModuleOptions): Promise<string> {
  const outcome: unknown = await limited('Express', Routes, options).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(RateLimitConfigError);
  return (outcome as Error).message;
}

async function bootLine(options: RateLimitModuleOptions): Promise<string> {
  await using app = await limited('Express', Routes, options);
  return app.logs.of('log').find((line) => /^(?:Limits are kept|No Redis)/.test(line)) ?? '';
}

describe('boot stops for an option that a store cannot honour', () => {
  it.each<[string, RateLimitModuleOptions, string]>([
    [
      'clock with store',
      { clock: 'app' },
      "clock has no effect with store: give the clock to the store itself, as in new RedisStore(client, { clock: 'app' })",
    ],
    [
      'connect with store',
      { connect: 'required' },
      'connect has no effect with store: connect the store yourself before the boot',
    ],
    [
      'onStoreStateChange with store',
      { onStoreStateChange: () => undefined },
      'onStoreStateChange has no effect with store: the limiter sees the state of a connection that it opens itself: give redis, not store',
    ],
  ])('such as %s', async (_, options, problem) => {
    for (const store of [ownStore(), new MemoryStore()]) {
      expect(await bootError({ store, ...options })).toContain(`RateLimitModule: ${problem}`);
    }
  });

  it('such as denialCache with a MemoryStore', async () => {
    expect(await bootError({ store: new MemoryStore(), denialCache: 500 })).toContain(
      'RateLimitModule: denialCache has no effect with a MemoryStore: leave it out, a MemoryStore answers as fast as the cache',
    );
    expect(await bootLine({ store: new MemoryStore(), denialCache: 0 })).toContain('MemoryStore');
  });

  it('such as onStoreStateChange with a client that has no duplicate()', async () => {
    const client = new Redis({ lazyConnect: true });
    expect(await bootError({ redis: plainClient(client), onStoreStateChange: () => undefined })).toContain(
      'RateLimitModule: onStoreStateChange has no effect with a client that has no duplicate(): the limiter watches a connection of its own: give a URL, ioredis options, or a client that has duplicate()',
    );
  });

  it.each<[string, object, string]>([
    ['url', { url: 'redis://redis.internal' }, 'give the URL itself'],
    ['hosst', { hosst: 'redis.internal' }, 'did you mean host?'],
  ])('such as %s, which ioredis does not know', async (name, redis, advice) => {
    const message = await bootError({ redis });
    expect(message).toContain(`RateLimitModule, redis: '${name}' is not an option of ioredis`);
    expect(message).toContain(advice);
  });
});

describe('without redis and store', () => {
  it('an application with the options for Redis boots, and the boot line names those without effect', async () => {
    const line = await bootLine({
      redis: '',
      clock: 'app',
      maxSkew: 200,
      denialCache: 500,
      deadline: 20,
      onStoreFailure: 'closed',
      localShare: 12,
      fallbackMaxBytes: 1_000_000,
      onStoreStateChange: () => undefined,
      headers: false,
    });
    expect(line).toContain(
      '. clock, maxSkew, onStoreFailure, localShare, fallbackMaxBytes, onStoreStateChange, denialCache need Redis RateLimit',
    );
  });
});
