import { Controller, type ExecutionContext, Get, Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import {
  Throttle,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerOptions,
  type ThrottlerRequest,
} from 'nestjs-floodgate/throttler';
import { Routes, throttled, TWO } from './support/throttled.js';

const neverSettles = (): Promise<never> => new Promise(() => undefined);
const LATE = 'it did not settle within 50 ms';

const LIMITED = [200, 200, 429];
const OPEN = [200, 200, 200];
const DEFAULT_BODY = { statusCode: 429, message: 'ThrottlerException: Too Many Requests' };

/** `skipIf` is declared without a promise, as in @nestjs/throttler. JavaScript returns one nevertheless. */
function skippingIf(skipIf: (context: ExecutionContext) => unknown): Pick<ThrottlerOptions, 'skipIf'> {
  return { skipIf: skipIf as (context: ExecutionContext) => boolean };
}

/** Each option that takes a function, the statuses of three requests, the kind of the failure, and the warning. */
const NEVER: [string, object, number[], string, string][] = [
  ['limit', { limit: neverSettles }, OPEN, 'policy', 'failed, the request passes without this throttler'],
  ['ttl', { ttl: neverSettles }, OPEN, 'policy', 'failed, the request passes without this throttler'],
  ['blockDuration', { blockDuration: neverSettles }, LIMITED, 'policy', 'failed, the ttl takes its place'],
];

describe('a function that never settles', () => {
  it.each(NEVER)('holds no request up: %s', async (name, option, expected, kind, warning) => {
    await using app = await throttled([{ ...TWO, ...option }]);
    expect(await app.statuses(3, '/one')).toEqual(expected);
    expect(app.logs.of('warn')).toContainEqual(
      expect.stringContaining(`${name} of throttler 'default' ${warning}: ${LATE}`),
    );
    expect(app.app.get(RateLimiter).stats().functionFailures).toMatchObject({ [kind]: 3 });
  });

  it('of @Throttle gives way to the number of the module', async () => {
    @Controller()
    class Strict {
      @Get('one')
      @Throttle({ default: { limit: neverSettles } })
      one(): void {}
    }
    await using app = await throttled([TWO], [Strict]);
    expect(await app.statuses(3, '/one')).toEqual(LIMITED);
    expect(app.logs.of('warn')).toContainEqual(
      expect.stringContaining(`limit of throttler 'default' failed, that of the module takes its place: ${LATE}`),
    );
  });

  it('is asked once for a request, however many throttlers have it', async () => {
    let asked = 0;
    const getTracker = (): Promise<never> => {
      asked++;
      return neverSettles();
    };
    const throttlers = Array.from({ length: 20 }, (_, i) => ({ ...TWO, name: `throttler-${i}` }));
    await using app = await throttled({ throttlers, getTracker });
    expect(await app.statuses(3, '/one')).toEqual(LIMITED);
    expect(asked).toBe(3);
  });

  it('of a guard holds no request up: getTracker, generateKey, shouldSkip, getErrorMessage', async () => {
    @Injectable()
    class Hanging extends ThrottlerGuard {
      protected override getTracker(): Promise<string> {
        return neverSettles();
      }
      protected override generateKey(): string {
        return neverSettles() as never;
      }
      protected override shouldSkip(): Promise<boolean> {
        return neverSettles();
      }
      protected override getErrorMessage(): Promise<string> {
        return neverSettles();
      }
    }
    await using app = await throttled([TWO], [Routes], Hanging);
    expect(await app.statuses(2, '/one')).toEqual([200, 200]);
    expect((await app.send('/one')).body).toEqual(DEFAULT_BODY);
  });

  it('is no longer waited for in an overridden handleRequest', async () => {
    const found: string[] = [];
    class Own extends ThrottlerGuard {
      protected override async handleRequest({ context, getTracker }: ThrottlerRequest): Promise<boolean> {
        found.push(await getTracker(this.getRequestResponse(context).req, context));
        return true;
      }
    }
    await using app = await throttled({ throttlers: [TWO], getTracker: neverSettles }, [Routes], Own);
    expect(await app.statuses(1, '/one')).toEqual([200]);
    expect(found).toEqual(['127.0.0.1']);
  });
});

describe('a promise of skipIf', () => {
  it.each<[string, (skipIf: Pick<ThrottlerOptions, 'skipIf'>) => ThrottlerModuleOptions]>([
    ['of a throttler', (skipIf) => [{ ...TWO, ...skipIf }]],
    ['of the module', (skipIf) => ({ throttlers: [TWO], ...skipIf })],
  ])('is awaited, where @nestjs/throttler takes it for true: %s', async (_name, options) => {
    const isRoot = async (context: ExecutionContext): Promise<boolean> =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user'] === 'root';
    await using app = await throttled(options(skippingIf(isRoot)));
    expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
    expect(await app.statuses(3, '/one', { headers: { 'x-user': 'root' } })).toEqual([200, 200, 200]);
  });
});

it('awaits a key, which would be another one with each request', async () => {
  const generateKey = (async () => 'all') as unknown as () => string;
  await using app = await throttled([{ ...TWO, generateKey }]);
  expect(await app.statuses(3, '/one')).toEqual([200, 200, 429]);
});
