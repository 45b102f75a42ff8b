import { Controller, Get, Injectable, Module, type Type, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimit } from 'nestjs-floodgate';
import * as ours from 'nestjs-floodgate/throttler';
import {
  SkipThrottle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
  type ThrottlerOptionsFactory,
} from 'nestjs-floodgate/throttler';
import { Routes, statuses, throttled, TWO } from './support/throttled.js';
import { theirs } from './support/theirs.js';

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'counts by a throttler that is called %s',
  async (name) => {
    await using app = await throttled([{ ...TWO, name }]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
  },
);

it('exports what @nestjs/throttler exports, but for the interval of a sweep that does not exist', () => {
  expect(Object.keys(ours).toSorted()).toEqual(
    Object.keys(theirs)
      .filter((name) => name !== 'DEFAULT_SWEEP_INTERVAL')
      .toSorted(),
  );
  const durations = ({
    seconds,
    minutes,
    hours,
    days,
    weeks,
  }: Pick<typeof ours, 'seconds' | 'minutes' | 'hours' | 'days' | 'weeks'>) =>
    [seconds, minutes, hours, days, weeks].map((duration) => duration(3));
  expect(durations(ours)).toEqual(durations(theirs));
  expect(ours.throttlerMessage).toBe(theirs.throttlerMessage);
  expect(new ours.ThrottlerException().getResponse()).toBe(new theirs.ThrottlerException().getResponse());
});

describe('ThrottlerModule', () => {
  it('takes an array, and counts each route by itself', async () => {
    await using app = await throttled([TWO]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/other', 1)).toEqual([200]);
  });

  it.each([
    ['useFactory', { useFactory: () => [TWO] }],
    ['useFactory with a promise', { useFactory: async () => ({ throttlers: [TWO] }) }],
    ['useClass', { useClass: factory() }],
  ])('takes options from %s', async (_name, options) => {
    await using app = await throttled([], [Routes], ThrottlerGuard, {
      imports: [ThrottlerModule.forRootAsync(options)],
    });
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
  });

  it('takes options from a class of another module, and injects into a factory', async () => {
    const Factory = factory();
    @Module({ providers: [Factory, { provide: 'LIMIT', useValue: 1 }], exports: [Factory, 'LIMIT'] })
    class Configuration {}
    const useFactory = (limit: number): ThrottlerModuleOptions => [{ ...TWO, limit }];
    const imports = [Configuration];
    for (const options of [
      { imports, useExisting: Factory },
      { imports, inject: ['LIMIT'], useFactory },
    ]) {
      await using app = await throttled([], [Routes], ThrottlerGuard, {
        imports: [ThrottlerModule.forRootAsync(options)],
      });
      expect((await statuses(app, '/one', 3)).at(-1)).toBe(429);
    }
  });

  it('limits with one guard on a class, and warns of no missing guard', async () => {
    @Controller()
    @UseGuards(ThrottlerGuard)
    class Guarded extends Routes {}
    await using app = await throttled([TWO], [Guarded], null);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
    expect(app.logs.text).not.toContain('no ThrottlerGuard is bound');
  });

  it('brings RateLimitModule: a route with @RateLimit has its policies beside the throttlers', async () => {
    @Controller()
    class Mixed {
      @Get('native')
      @SkipThrottle()
      @RateLimit({ algorithm: 'token-bucket', capacity: 1, refill: '1/m' })
      native(): void {}
    }
    const events: DecisionEvent[] = [];
    await using app = await throttled({ throttlers: [TWO], onDecision: (event) => events.push(event) }, [
      Mixed,
      Routes,
    ]);
    expect(await statuses(app, '/native', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/one', 4)).toEqual([200, 200, 429, 429]);
    // One decision for each request and throttler, whatever else is kept.
    expect(events.map(({ decision }) => decision.allowed)).toEqual([true, false, true, true, false, false]);
  });

  it('takes numbers as a configuration gives them, as text', async () => {
    await using app = await throttled([{ limit: '2', ttl: '60000' } as unknown as typeof TWO]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
  });
});

function factory(): Type<ThrottlerOptionsFactory> {
  @Injectable()
  class Factory implements ThrottlerOptionsFactory {
    createThrottlerOptions(): ThrottlerModuleOptions {
      return [TWO];
    }
  }
  return Factory;
}
