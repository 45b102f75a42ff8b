import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, type PolicySource, RateLimit, RateLimitConfigError, SkipRateLimit } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../../support/http-app.js';
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
      const boot = limited('Express', routeWith(policy, ...more), { policies: POLICIES });
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
    ['a path that has to be escaped', '\u00e4'.repeat(30), 'default', 'route'],
    ['a long path and name', 'p'.repeat(40), LONG, 'route'],
    ['a long class path', 'p'.repeat(120), 'default', 'controller'],
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

describe.each(PLATFORMS)('over %s, the policies of an application', (platform) => {
  it('stop the boot with a RateLimitConfigError when one is wrong', async () => {
    const boot = limited(platform, routeWith(bucket({ capacity: 0 })));
    await expect(boot).rejects.toBeInstanceOf(RateLimitConfigError);
  });

  it('may have values at the bounds', async () => {
    const right: [unknown, ...unknown[]][] = [
      [bucket({ capacity: 1, refill: '1/100y', cost: 1 })],
      [bucket({ capacity: 1e12, refill: 1e9 })],
      [bucket({ cost: 0 })],
      [bucket({ cost: 20 })],
      [queue({ cost: 21 })],
      [log({ limit: 1_000_000, cost: 1000 })],
      [fixed({ window: 1 })],
      [fixed({ window: 60 })],
      [fixed({ window: '60ms' })],
      [fixed({ window: '100y' })],
      [bucket({ name: LONG, scope: 'app' })],
      [bucket(), fixed({ name: 'named' })],
      [queue({ name: 'a' }), bucket({ name: 'b' }), fixed({ name: 'c' })],
    ];
    for (const [policy, ...more] of right) {
      await using app = await limited(platform, routeWith(policy, ...more));
      expect((await app.send('/rides')).status).toBe(200);
    }
  });

  it('cause one warning when a rate has to be rounded, and it names the handler', async () => {
    await using app = await limited(platform, routeWith(bucket({ refill: 1 / 3 })));
    const [warning, ...more] = app.logs.of('warn');
    expect(more).toEqual([]);
    expect(warning).toMatch(
      /^RidesController\.request, @RateLimit: refill is rounded down to \d+ per \d+ microseconds/,
    );
  });
});

describe('a wrong use of a decorator makes the declaration of its class throw', () => {
  const policy: Policy = { algorithm: 'token-bucket', capacity: 5, refill: 1 };

  it.each<[string, () => unknown, string]>([
    [
      '@RateLimit twice on a method',
      () => {
        class A {
          @RateLimit(policy)
          @RateLimit(policy)
          get(): void {}
        }
        return A;
      },
      'A.get: @RateLimit stands beside another rate limit decorator',
    ],
    [
      '@RateLimit and @SkipRateLimit on a method',
      () => {
        class A {
          @SkipRateLimit()
          @RateLimit(policy)
          get(): void {}
        }
        return A;
      },
      'A.get: @SkipRateLimit stands beside another',
    ],
    [
      '@RateLimit and @SkipRateLimit on a class',
      () => {
        @RateLimit(policy)
        @SkipRateLimit()
        class A {}
        return A;
      },
      'A: @RateLimit stands beside another',
    ],
    [
      '@RateLimit without parentheses on a method',
      () => {
        class A {
          @(RateLimit as unknown as MethodDecorator)
          get(): void {}
        }
        return A;
      },
      "A.get: @RateLimit needs its parentheses: @RateLimit('name') or @RateLimit({ algorithm, ... })",
    ],
    [
      '@RateLimit without parentheses on a static method',
      () => {
        class A {
          @(RateLimit as unknown as MethodDecorator)
          static get(): void {}
        }
        return A;
      },
      'A.get: @RateLimit needs its parentheses',
    ],
    [
      '@RateLimit without parentheses on a class',
      () => {
        @(RateLimit as unknown as ClassDecorator)
        class A {}
        return A;
      },
      'A: @RateLimit needs its parentheses',
    ],
    [
      '@SkipRateLimit without parentheses on a method',
      () => {
        class A {
          @(SkipRateLimit as unknown as MethodDecorator)
          get(): void {}
        }
        return A;
      },
      'A.get: @SkipRateLimit needs its parentheses: @SkipRateLimit()',
    ],
    [
      '@SkipRateLimit without parentheses on a class',
      () => {
        @(SkipRateLimit as unknown as ClassDecorator)
        class A {}
        return A;
      },
      'A: @SkipRateLimit needs its parentheses',
    ],
    [
      '@RateLimit without a policy',
      () => {
        class A {
          @((RateLimit as never as () => MethodDecorator)())
          get(): void {}
        }
        return A;
      },
      'A.get: @RateLimit takes policies and names, got undefined',
    ],
  ])('for %s', (_, declare, problem) => {
    expect(declare).toThrow(RateLimitConfigError);
    expect(declare).toThrow(problem);
  });
});

describe('a decorator that cannot limit requests makes the declaration of its class throw', () => {
  const policy: Policy = { algorithm: 'token-bucket', capacity: 5, refill: 1 };
  const decorators: [string, () => ClassDecorator & MethodDecorator][] = [
    ['@RateLimit', () => RateLimit(policy)],
    ['@SkipRateLimit', () => SkipRateLimit()],
  ];

  describe.each(decorators)('for %s', (name, decorator) => {
    const decorated: PropertyDecorator = decorator();

    it.each<[string, () => unknown, string]>([
      [
        'on a property',
        () => {
          class A {
            @decorated
            readonly handler = (): void => undefined;
          }
          return A;
        },
        'A.handler',
      ],
      [
        'on an accessor',
        () => {
          class A {
            @decorator()
            get handler(): () => void {
              return () => undefined;
            }
          }
          return A;
        },
        'A.handler',
      ],
      [
        'on a static method',
        () => {
          class A {
            @decorator()
            static handler(): void {}
          }
          return A;
        },
        'A.handler',
      ],
      [
        'on a static property',
        () => {
          class A {
            @decorated
            static readonly handler = (): void => undefined;
          }
          return A;
        },
        'A.handler',
      ],
    ])('%s', (_, declare, member) => {
      expect(declare).toThrow(
        new RateLimitConfigError(
          member,
          `${name} belongs on a class or on a method that handles requests`,
          'FG_DECORATOR',
        ),
      );
      expect(declare).toThrow(RateLimitConfigError);
    });
  });

  it.each<[string, PolicySource[], string]>([
    ['undefined', [undefined as never], 'A.get'],
    ['undefined beside a policy', [policy, undefined as never], 'A.get'],
  ])('for @RateLimit with %s, as from a circular import', (_, [first, ...more], method) => {
    const declare = (): unknown => {
      class A {
        @RateLimit(first!, ...more)
        get(): void {}
      }
      return A;
    };
    expect(declare).toThrow(RateLimitConfigError);
    expect(declare).toThrow(`${method}: @RateLimit takes policies and names, got undefined`);
  });
});
