import type { INestApplication, NestApplicationOptions, NestInterceptor } from '@nestjs/common';
import { type CallHandler, Controller, type ExecutionContext, Get } from '@nestjs/common';
import handleCors from 'cors';
import { HttpAdapterHost } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply, type SendOptions } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const ONE = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/m' } as const;
const ALL = { ...ONE, name: 'all' };
const PAGE: SendOptions = { headers: { Origin: 'https://page.test' } };

@Controller()
class Routes {
  @Get('limited')
  @RateLimit(ONE)
  limited(): string {
    return 'passed';
  }

  @Get('free')
  free(): string {
    return 'passed';
  }
}

/** Allows every origin by itself, after the guard. */
class OwnCors implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
    const response = context.switchToHttp().getResponse<{ header(name: string, value: string): void }>();
    response.header('Access-Control-Allow-Origin', '*');
    response.header('Access-Control-Expose-Headers', 'ETag');
    return next.handle();
  }
}

/** The names that a script may read, in lower case. */
function exposed({ headers }: Reply): string[] {
  const list = headers['access-control-expose-headers'];
  return list === undefined ? [] : list.toLowerCase().split(/ *, */);
}

const LIMITS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

type CorsOptions = Exclude<NonNullable<NestApplicationOptions['cors']>, boolean>;

describe.each(PLATFORMS)('over %s', (platform) => {
  const open = (cors: CorsOptions | undefined, options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    limited(
      platform,
      Routes,
      { store: new StillStore(), ...options },
      { configure: (app) => void (cors !== undefined && app.enableCors(cors)) },
    );

  it('a page of another origin reads the headers of allowed and of rejected requests', async () => {
    await using app = await open({});
    const allowed = await app.send('/limited', PAGE);
    expect([allowed.status, exposed(allowed)]).toEqual([200, LIMITS]);
    const rejected = await app.send('/limited', PAGE);
    expect([rejected.status, exposed(rejected)]).toEqual([429, [...LIMITS, 'retry-after']]);
    expect(rejected.headers['access-control-allow-origin']).toBe('*');
  });

  it.each<[NonNullable<RateLimitModuleOptions['headers']>, string[]]>([
    ['draft', ['ratelimit-policy', 'ratelimit', 'retry-after']],
    ['both', [...LIMITS, 'ratelimit-policy', 'ratelimit', 'retry-after']],
    ['throttler', ['retry-after-one', 'retry-after']],
    [false, ['retry-after']],
  ])('exactly the headers that are sent are exposed: %s', async (headers, names) => {
    await using app = await open({}, { headers });
    await app.send('/limited', PAGE);
    const rejected = await app.send('/limited', PAGE);
    expect(exposed(rejected)).toEqual(names);
    for (const name of names) expect(rejected.headers).toHaveProperty(name);
  });

  it("the application's own list stays, and no name is in it twice", async () => {
    await using app = await open({ exposedHeaders: ['ETag', 'retry-after'] });
    expect(exposed(await app.send('/limited', PAGE))).toEqual(['etag', 'retry-after', ...LIMITS]);
    expect(exposed(await app.send('/limited', PAGE))).toEqual(['etag', 'retry-after', ...LIMITS]);
    expect(exposed(await app.send('/free', PAGE))).toEqual(['etag', 'retry-after']);
  });

  it('an asterisk says it all, but not with credentials', async () => {
    await using app = await open({ exposedHeaders: '*' });
    expect(exposed(await app.send('/limited', PAGE))).toEqual(['*']);
    await using strict = await open({ exposedHeaders: '*', credentials: true, origin: 'https://page.test' });
    expect(exposed(await strict.send('/limited', PAGE))).toEqual(['*', ...LIMITS]);
  });

  it('nothing is exposed without CORS, without an origin, and to an origin that is not allowed', async () => {
    await using off = await open(undefined);
    expect(exposed(await off.send('/limited', PAGE))).toEqual([]);
    await using some = await open({ origin: ['https://other.test'] });
    expect(exposed(await some.send('/limited', PAGE))).toEqual([]);
    expect(exposed(await some.send('/limited'))).toEqual([]);
  });

  it('CORS of the application itself, after the guard, is met as well', async () => {
    await using app = await limited(
      platform,
      Routes,
      { store: new StillStore() },
      { configure: (nest) => void nest.useGlobalInterceptors(new OwnCors()) },
    );
    expect(exposed(await app.send('/limited', PAGE))).toEqual(['etag', ...LIMITS]);
    expect(exposed(await app.send('/free', PAGE))).toEqual(['etag']);
  });

  describe('with policies of the middleware, which runs before CORS', () => {
    const before = { middleware: [ALL] };

    it('a page reads the headers of a request that passes', async () => {
      await using app = await open({ exposedHeaders: ['ETag'] }, before);
      const { status, headers, ...reply } = await app.send('/free', PAGE);
      expect([status, headers['access-control-allow-origin']]).toEqual([200, '*']);
      expect(exposed({ status, headers, ...reply })).toEqual(['etag', ...LIMITS]);
    });

    it('a rejection has no headers of CORS, and boot says so', async () => {
      await using app = await open({}, before);
      expect(app.logs.of('warn').filter((line) => line.includes('before CORS'))).toHaveLength(1);
      await app.send('/free');
      const { status, headers } = await app.send('/free', PAGE);
      expect([status, headers['access-control-allow-origin']]).toEqual([429, undefined]);
    });

    it('boot says nothing without CORS, or without policies of the middleware', async () => {
      await using without = await open(undefined, before);
      await using guarded = await open({});
      for (const { logs } of [without, guarded]) {
        expect(logs.of('warn').filter((line) => line.includes('before CORS'))).toEqual([]);
      }
    });

    it('a preflight beyond the limit is rejected and not answered by CORS', async () => {
      await using app = await open({}, before);
      const preflight: SendOptions = {
        method: 'OPTIONS',
        headers: { ...PAGE.headers, 'Access-Control-Request-Method': 'PUT' },
      };
      expect((await app.send('/free', preflight)).status).toBe(204);
      expect((await app.send('/free', preflight)).status).toBe(429);
    });
  });
});

it('a page reads a rejection of the middleware over Express where CORS runs first, as docs/http.md shows it', async () => {
  const exposedHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'];
  const options = { store: new StillStore(), middleware: [ALL] };
  const configure = (nest: INestApplication): void =>
    nest.get(HttpAdapterHost).httpAdapter.setOnRequestHook(handleCors({ origin: 'https://page.test', exposedHeaders }));
  await using app = await limited('Express', Routes, options, { configure });
  expect((await app.send('/free', PAGE)).status).toBe(200);
  const rejected = await app.send('/free', PAGE);
  expect([rejected.status, rejected.headers['access-control-allow-origin']]).toEqual([429, 'https://page.test']);
  expect(exposed(rejected)).toEqual([...LIMITS, 'retry-after']);
});
