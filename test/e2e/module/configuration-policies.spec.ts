import { Controller, Get, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitConfigError,
  RateLimitModule,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';
import { bucket, COUNT, fixed, log, LONG, queue, WRONG_POLICIES } from '../../support/wrong-policies.js';

function routeWith(policy: unknown, ...more: unknown[]): Type {
  @Controller('rides')
  class RidesController {
    @Get()
    @RateLimit(policy as PolicySource, ...(more as PolicySource[]))
    request(): void {}
  }
  return RidesController;
}

const POLICIES: Record<string, Policy> = {
  burst: { algorithm: 'token-bucket', capacity: 20, refill: 10 },
  daily: { algorithm: 'fixed-window', limit: 100, window: '1d' },
};

describe('a wrong policy stops the boot', () => {
  it.each(WRONG_POLICIES)(
    'on a route, and the error names class and method: %s (%#)',
    async (problem, [policy, ...more]) => {
      const imports = [RateLimitModule.forRoot({ policies: POLICIES })];
      const controllers = [routeWith(policy, ...more)];
      // Without a server: a boot for each takes its time.
      const boot = NestFactory.createApplicationContext(
        { module: class App {}, imports, controllers },
        { logger: false, abortOnError: false },
      );
      await expect(boot).rejects.toMatchObject({
        name: 'RateLimitConfigError',
        message: expect.stringMatching(/^RidesController\.request, @RateLimit: /),
      });
      await expect(boot).rejects.toThrow(problem);
    },
  );

  it('on a class, and the error names the class', async () => {
    @Controller()
    @RateLimit({ algorithm: 'token-bucket', capacity: 0, refill: 10 })
    class FaresController {
      @Get()
      get(): void {}
    }
    await expect(limited('Express', FaresController)).rejects.toThrow(
      new RateLimitConfigError('FaresController, @RateLimit', `capacity ${COUNT}, got 0`, 'FG_INVALID_POLICY'),
    );
  });

  it.each([
    ['a long path', 'p'.repeat(120), 'default', 'route'],
    ['a name that has to be escaped', '', ':'.repeat(64), 'app'],
  ] as const)('when its keys could become too long: %s', async (_, path, name, scope) => {
    @Controller(path)
    class LongController {
      @Get()
      @RateLimit({ algorithm: 'token-bucket', capacity: 5, refill: 1, name, scope })
      get(): void {}
    }
    await expect(limited('Express', LongController)).rejects.toThrow(
      /^LongController\.get, @RateLimit: the route, name and rate of policy '.+' take \d+ bytes in keys, at most 114 fit: give it a shorter name/,
    );
  });
});

describe('the policies of an application', () => {
  it('may have values at the bounds', async () => {
    const right: [unknown, ...unknown[]][] = [
      [bucket({ capacity: 1, refill: '1/100y', cost: 1 })],
      [bucket({ capacity: 1e12, refill: 1e9, cost: 0, name: LONG, scope: 'app' })],
      [queue({ cost: 21 })],
      [log({ limit: 1_000_000, cost: 1000 })],
      [fixed({ window: 1 })],
      [fixed({ window: '100y' })],
      [queue({ name: 'a' }), bucket({ name: 'b' }), fixed({ name: 'c' })],
    ];
    const controllers = right.map(([policy, ...more]) => routeWith(policy, ...more));
    await using app = await limited('Express', controllers);
    expect((await app.send('/rides')).status).toBe(200);
  });

  it('cause one warning when a rate has to be rounded, and it names the handler', async () => {
    await using app = await limited('Express', routeWith(bucket({ refill: 1 / 3 })));
    const [warning, ...more] = app.logs.of('warn');
    expect(more).toEqual([]);
    expect(warning).toMatch(
      /^RidesController\.request, @RateLimit: refill is rounded down to \d+ per \d+ microseconds/,
    );
  });
});

type Member = 'class' | 'get' | 'run' | 'field';

/** Decorates a class or one of its members as TypeScript does: the last decorator first. */
function declare(member: Member, decorators: readonly unknown[]): void {
  class A {
    static run(): void {}
    get(): void {}
  }
  const target = member === 'run' ? A : A.prototype;
  for (const decorate of decorators.toReversed() as ((...args: unknown[]) => void)[]) {
    if (member === 'class') decorate(A);
    else decorate(target, member, Object.getOwnPropertyDescriptor(target, member));
  }
}

describe('a wrong use of a decorator makes the declaration of its class throw', () => {
  const policy: Policy = { algorithm: 'token-bucket', capacity: 5, refill: 1 };
  const limit = RateLimit(policy);
  const missing = undefined as unknown as Policy; // as from a circular import
  const nowhere = 'belongs on a class or on a method that handles requests';

  it.each<[Member, () => unknown[], string]>([
    ['get', () => [limit, limit], 'A.get: @RateLimit stands beside another rate limit decorator'],
    ['get', () => [SkipRateLimit(), limit], 'A.get: @SkipRateLimit stands beside another'],
    ['get', () => [RateLimit], "A.get: @RateLimit needs its parentheses: @RateLimit('name') or @RateLimit({ algorithm"],
    ['class', () => [SkipRateLimit], 'A: @SkipRateLimit needs its parentheses'],
    ['run', () => [limit], `A.run: @RateLimit ${nowhere}`],
    ['field', () => [SkipRateLimit()], `A.field: @SkipRateLimit ${nowhere}`],
    [
      'get',
      () => [RateLimit('burst', { defaults: 'kept' } as never)],
      "defaults must be 'keep' or 'replace', got 'kept'",
    ],
    ['get', () => [SkipRateLimit(7 as never)], '@SkipRateLimit takes names of policies, or nothing, got 7'],
    ['get', () => [RateLimit(missing)], 'A.get: @RateLimit takes policies and names, got undefined'],
    ['get', () => [RateLimit(policy, missing)], 'A.get: @RateLimit takes policies and names, got undefined'],
  ])('on %s (%#)', (member, decorators, problem) => {
    const wrong = (): void => declare(member, decorators());
    expect(wrong).toThrow(RateLimitConfigError);
    expect(wrong).toThrow(problem);
  });
});
