import { Injectable, SetMetadata } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type ContextAdapter,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  SkipRateLimit,
  userIdentity,
} from 'nestjs-floodgate';
import { start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const TWO: Policy = { name: 'two', scope: 'app', algorithm: 'fixed-window', limit: 2, window: '1h' };

interface Job {
  readonly from: string;
  readonly batch?: object;
}

@Injectable()
class Jobs {
  @SetMetadata('job', true)
  @RateLimit(TWO)
  mail(): string {
    return 'mailed';
  }

  @SetMetadata('job', true)
  counted(): string {
    return 'counted';
  }

  @SetMetadata('job', true)
  @SkipRateLimit()
  free(): string {
    return 'free';
  }
}

const jobs: ContextAdapter = {
  type: 'job',
  handlers: 'a job',
  place: 'providers',
  isHandler: (_, handler) => Reflect.hasMetadata('job', handler),
  operation: (context) => context.getArgByIndex<Job>(0).batch ?? context.getArgs(),
  request: (context) => ({ headers: { 'x-user-id': context.getArgByIndex<Job>(0).from } }),
  toError: (exception) => new Error(`job: ${exception.message}`),
};

describe("an application's own context", () => {
  it('is limited through its adapter', async () => {
    const store = new StillStore();
    const limiter = RateLimitModule.forRoot({ store, contexts: [jobs], defaults: [TWO], identity: [userIdentity()] });
    await using app = await start('Express', { imports: [limiter], providers: [Jobs] });
    const instance = app.app.get(Jobs);
    const call = (method: keyof Jobs): ((job: Job) => Promise<string>) => {
      const none = undefined;
      const creator = app.app.get(ExternalContextCreator);
      return creator.create(instance, instance[method], method, none, none, none, none, none, 'job') as never;
    };
    const batch = {};
    // One operation is charged once, though two handlers see it side by side.
    const both = [call('mail')({ from: 'ada', batch }), call('counted')({ from: 'ada', batch })];
    expect(await Promise.all(both)).toEqual(['mailed', 'counted']);
    expect(store.keys).toEqual([expect.stringContaining('rl:{user:ada}:app:two')]);
    expect(store.asked).toHaveLength(1);
    expect(await call('counted')({ from: 'ada' })).toBe('counted');
    await expect(call('mail')({ from: 'ada' })).rejects.toThrow('job: Too many requests, retry in 3600 seconds');
    expect(await call('free')({ from: 'ada' })).toBe('free');
    expect(await call('mail')({ from: 'bob' })).toBe('mailed');
    const peeked = await app.app.get(RateLimiter).peek([Jobs, 'mail'], { kind: 'user', value: 'bob' });
    expect(peeked.policies[0]!.remaining).toBe(1);
    expect(app.logs.of('warn')).toEqual([]);
  });
});
