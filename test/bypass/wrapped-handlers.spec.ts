import { Controller, Get, Post } from '@nestjs/common';
import { RouterExecutionContext } from '@nestjs/core/router/router-execution-context.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const TWO = { name: 'api', algorithm: 'fixed-window', limit: 2, window: '300d' } as const;
const CLIENT = { kind: 'ip', value: '127.0.0.1' };

type Callback = (...args: unknown[]) => unknown;

@Controller('t')
class Routes {
  @Get('one')
  @RateLimit(TWO)
  one(): void {}

  @Post('one')
  @RateLimit(TWO)
  other(): void {}
}

/** Wraps each handler with its metadata, as `@opentelemetry/instrumentation-nestjs-core` does. */
function wrapped(name: (handler: Callback) => string, handler: Callback): Callback {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    return handler.apply(this, args);
  };
  Object.defineProperty(wrapper, 'name', { value: name(handler) });
  for (const key of Reflect.getMetadataKeys(handler)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), wrapper);
  }
  return wrapper;
}

describe.each([
  ['its name', ({ name }: Callback) => name],
  ['no name', () => ''],
])('a handler that tracing wraps, with %s', (_, name) => {
  const prototype = RouterExecutionContext.prototype as unknown as Record<'create', Callback>;
  const { create } = prototype;
  beforeEach(() => {
    prototype.create = function (this: unknown, instance, callback, ...rest) {
      return create.call(this, instance, wrapped(name, callback as Callback), ...rest);
    };
  });
  afterEach(() => void (prototype.create = create));

  it.each(PLATFORMS)('keeps its route for peek, explain, reset and overrides over %s', async (platform) => {
    await using app = await limited(platform, Routes, { store: new StillStore() });
    const limiter = app.app.get(RateLimiter);
    const statuses = (method = 'GET'): Promise<number[]> => app.statuses(3, '/t/one', { method });
    expect(await statuses()).toEqual([200, 200, 429]);
    expect(await statuses('POST')).toEqual([201, 201, 429]);
    expect((await limiter.peek('GET /t/one', CLIENT)).policies).toMatchObject([{ remaining: 0 }]);
    expect(await limiter.explain([Routes, 'one'], CLIENT)).toMatchObject({ isRejected: true });
    expect(await limiter.reset('GET /t/one', CLIENT)).toEqual([{ policy: 'api', scope: 'GET /t/one', found: true }]);
    expect(await statuses()).toEqual([200, 200, 429]);
    const target = { policy: 'api', identity: CLIENT, scope: 'GET /t/one' };
    await app.app.get(RateLimitOverrides).set(target, { limit: 5 });
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(await statuses('POST')).toEqual([429, 429, 429]);
    expect(limiter.table().routes.map(({ route }) => route)).toEqual(['GET /t/one', 'POST /t/one']);
  });
});
