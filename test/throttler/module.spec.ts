import { Controller, Get, Injectable, Module, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimit } from 'nestjs-floodgate';
import * as ours from 'nestjs-floodgate/throttler';
import {
  SkipThrottle,
  type ThrottlerAsyncOptions,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
  type ThrottlerOptionsFactory,
} from 'nestjs-floodgate/throttler';
import { Routes, throttled, TWO } from './support/throttled.js';
import { theirs } from './support/theirs.js';

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'counts by a throttler that is called %s',
  async (name) => {
    await using app = await throttled([{ ...TWO, name }]);
    expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
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

@Injectable()
class Factory implements ThrottlerOptionsFactory {
  createThrottlerOptions(): ThrottlerModuleOptions {
    return [TWO];
  }
}

@Module({ providers: [Factory, { provide: 'TWO', useValue: TWO }], exports: [Factory, 'TWO'] })
class Configuration {}

describe('ThrottlerModule', () => {
  it('takes an array, also with numbers as text, and counts each route by itself', async () => {
    await using app = await throttled([{ limit: '2', ttl: '60000' } as unknown as typeof TWO]);
    expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
    expect(await app.statuses(1, '/other')).toEqual([200]);
  });

  it.each<[string, ThrottlerAsyncOptions]>([
    ['useFactory', { useFactory: () => [TWO] }],
    ['useFactory with a promise', { useFactory: async () => ({ throttlers: [TWO] }) }],
    ['useFactory that injects', { imports: [Configuration], inject: ['TWO'], useFactory: (two: typeof TWO) => [two] }],
    ['useClass', { useClass: Factory }],
    ['useExisting', { imports: [Configuration], useExisting: Factory }],
  ])('takes options from %s', async (_name, options) => {
    await using app = await throttled([], [Routes], ThrottlerGuard, {
      imports: [ThrottlerModule.forRootAsync(options)],
    });
    expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
  });

  it('limits with one guard on a class, and warns of no missing guard', async () => {
    @Controller()
    @UseGuards(ThrottlerGuard)
    class Guarded extends Routes {}
    await using app = await throttled([TWO], [Guarded], null);
    expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
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
    expect(await app.statuses(2, '/native')).toEqual([200, 429]);
    expect(await app.statuses(4, '/one')).toEqual([200, 200, 429, 429]);
    // One decision for each request and throttler, whatever else is kept.
    expect(events.map(({ decision }) => decision.allowed)).toEqual([true, false, true, true, false, false]);
  });
});
