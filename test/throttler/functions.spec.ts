import { Controller, type ExecutionContext, Get, Injectable, UnauthorizedException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import {
  Throttle,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerModuleOptions,
  type ThrottlerOptions,
  type ThrottlerRequest,
  ThrottlerStorageService,
} from 'nestjs-floodgate/throttler';
import type { HttpApp } from '../support/http-app.js';
import { unhandledRejections } from '../support/node-warnings.js';
import { methodOf, Routes, statuses, throttled, TWO } from './support/throttled.js';

const neverSettles = (): Promise<never> => new Promise(() => undefined);
const LATE = 'it did not settle within 50 ms';

/** What comes within 2 s: a hanging request fails its test. */
async function soon<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('a request hangs')), 2000);
  });
  return Promise.race([answer, timeout]).finally(() => clearTimeout(timer));
}

/** The statuses of `count` requests. */
function answers(app: HttpApp, count: number, headers = {}): Promise<number[]> {
  return soon(statuses(app, '/one', count, headers));
}

/** `skipIf` is declared without a promise, as in @nestjs/throttler. JavaScript returns one nevertheless. */
function skippingIf(skipIf: (context: ExecutionContext) => unknown): Pick<ThrottlerOptions, 'skipIf'> {
  return { skipIf: skipIf as (context: ExecutionContext) => boolean };
}

describe('a function that never settles', () => {
  it.each<[string, ThrottlerOptions, number[], string, string]>([
    [
      'skipIf',
      { ...TWO, ...skippingIf(neverSettles) },
      [200, 200, 429],
      'skipIf',
      "skipIf of throttler 'default' failed, the request is counted",
    ],
    [
      'getTracker',
      { ...TWO, getTracker: neverSettles },
      [200, 200, 429],
      'identity',
      "getTracker of throttler 'default' failed, the request counts by its address",
    ],
    [
      'generateKey',
      { ...TWO, generateKey: neverSettles as never },
      [200, 200, 429],
      'identity',
      "generateKey of throttler 'default' failed, the request counts by its handler and tracker",
    ],
    [
      'limit',
      { ...TWO, limit: neverSettles },
      [200, 200, 200],
      'policy',
      "limit of throttler 'default' failed, the request passes without this throttler",
    ],
    [
      'ttl',
      { ...TWO, ttl: neverSettles },
      [200, 200, 200],
      'policy',
      "ttl of throttler 'default' failed, the request passes without this throttler",
    ],
    [
      'blockDuration',
      { ...TWO, blockDuration: neverSettles },
      [200, 200, 429],
      'policy',
      "blockDuration of throttler 'default' failed, the ttl takes its place",
    ],
  ])('holds no request up: %s', async (_name, throttler, expected, kind, warning) => {
    await using app = await throttled([throttler]);
    expect(await answers(app, 3)).toEqual(expected);
    expect(app.logs.of('warn')).toContainEqual(expect.stringContaining(`${warning}: ${LATE}`));
    const { functionFailures } = app.app.get(RateLimiter).stats();
    expect(functionFailures).toMatchObject({ [kind]: 3 });
  });

  it('of @Throttle gives way to the number of the module', async () => {
    @Controller()
    class Strict {
      @Get('one')
      @Throttle({ default: { limit: neverSettles } })
      one(): void {}
    }
    await using app = await throttled([TWO], [Strict]);
    expect(await answers(app, 3)).toEqual([200, 200, 429]);
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
    expect(await answers(app, 3)).toEqual([200, 200, 429]);
    expect(asked).toBe(3);
  });

  it('gets the time of deadline', async () => {
    const slow = async (): Promise<string> => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'ada';
    };
    await using app = await throttled({ throttlers: [TWO], getTracker: slow, deadline: 2000 });
    expect(await answers(app, 3)).toEqual([200, 200, 429]);
    expect(app.logs.text).not.toContain('getTracker');
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
    expect(await answers(app, 2)).toEqual([200, 200]);
    const rejected = await soon(app.send('/one'));
    expect(rejected.body).toEqual({ statusCode: 429, message: 'ThrottlerException: Too Many Requests' });
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
    expect(await answers(app, 1)).toEqual([200]);
    expect(found).toEqual(['127.0.0.1']);
  });

  it('holds up no guard that was made with new', async () => {
    const guard = new ThrottlerGuard(
      [{ ...TWO, limit: 1, getTracker: neverSettles }],
      new ThrottlerStorageService(),
      undefined as never,
    );
    await guard.onModuleInit();
    const http = { getRequest: () => ({ ip: '1.2.3.4', headers: {} }), getResponse: () => ({}) };
    const context = {
      getHandler: () => methodOf(Routes, 'one'),
      getClass: () => Routes,
      switchToHttp: () => http,
    } as unknown as ExecutionContext;
    expect(await soon(guard.canActivate(context))).toBe(true);
  });

  it('that rejects after its deadline leaves no unhandled rejection', async () => {
    const rejections = unhandledRejections();
    let reject: ((error: Error) => void) | undefined;
    const getTracker = (): Promise<never> => new Promise((_, rejectNow) => (reject = rejectNow));
    await using app = await throttled([{ ...TWO, getTracker }]);
    expect(await answers(app, 1)).toEqual([200]);
    reject!(new Error('too late'));
    expect(await rejections()).toEqual([]);
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
    expect(await answers(app, 3)).toEqual([200, 200, 429]);
    expect(await answers(app, 3, { 'x-user': 'root' })).toEqual([200, 200, 200]);
  });
});

describe('what a function throws', () => {
  const UNAUTHORIZED = new UnauthorizedException();
  const throws = (): never => {
    throw UNAUTHORIZED;
  };
  const rejects = (): Promise<never> => Promise.reject(UNAUTHORIZED);

  it.each<[string, Partial<ThrottlerOptions>]>([
    ['getTracker', { getTracker: throws }],
    ['getTracker, later', { getTracker: rejects }],
    ['generateKey', { generateKey: throws }],
    ['limit', { limit: rejects }],
    ['skipIf', { skipIf: throws }],
    ['skipIf, later', skippingIf(rejects)],
  ])('is the answer, as in @nestjs/throttler: %s', async (_name, option) => {
    await using app = await throttled([{ ...TWO, ...option }]);
    expect(await answers(app, 1)).toEqual([401]);
  });
});

it('awaits a key, which would be another one with each request', async () => {
  const generateKey = (async () => 'all') as unknown as () => string;
  await using app = await throttled([{ ...TWO, generateKey }]);
  expect(await answers(app, 3)).toEqual([200, 200, 429]);
});

it('says how a message that comes too late is replaced', async () => {
  const errorMessage = neverSettles as unknown as (context: ExecutionContext, detail: ThrottlerLimitDetail) => string;
  await using app = await throttled({ throttlers: [{ limit: 0, ttl: 1000 }], errorMessage });
  const { body } = await soon(app.send('/one'));
  expect(body).toEqual({ statusCode: 429, message: 'ThrottlerException: Too Many Requests' });
  expect(app.logs.of('warn')).toContainEqual(
    expect.stringContaining(`errorMessage failed, the default takes its place: ${LATE}`),
  );
});
