import { type CallHandler, Controller, type ExecutionContext, Get, type NestApplicationOptions } from '@nestjs/common';
import type { NestInterceptor } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { CapturedLogs, HttpApp, limited, PLATFORMS, type Reply, type SendOptions } from '../support/http-app.js';
import { unhandledRejections } from '../support/node-warnings.js';
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

/** As the adapter of Nest 11 does: it registers the plugin as it is. */
class AdapterOfNest11 extends FastifyAdapter {
  constructor() {
    super();
    Reflect.deleteProperty(this, 'corsHook');
  }

  override enableCors(options: never): void {
    void this.register(import('@fastify/cors') as never, options);
  }
}

it('a page reads a rejection of the middleware over Fastify in Nest 11', async () => {
  const logger = new CapturedLogs();
  const limits = RateLimitModule.forRoot({ store: new StillStore(), middleware: [ALL] });
  class Root {}
  const module = { module: Root, imports: [limits], controllers: [Routes] };
  const nest = await NestFactory.create(module, new AdapterOfNest11(), { logger, abortOnError: false });
  nest.enableCors({ origin: ['https://page.test'], exposedHeaders: ['ETag'] });
  await nest.listen(0, '127.0.0.1');
  await using app = new HttpApp(nest, logger, (nest.getHttpServer() as { address(): { port: number } }).address().port);
  const allowed = await app.send('/free', PAGE);
  expect([allowed.status, exposed(allowed)]).toEqual([200, ['etag', ...LIMITS]]);
  const rejected = await app.send('/free', PAGE);
  expect([rejected.status, rejected.headers['access-control-allow-origin']]).toEqual([429, 'https://page.test']);
  expect(exposed(rejected)).toEqual(['etag', ...LIMITS, 'retry-after']);
});

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

    it.each(['/free', '/nothing'])('a page reads a rejection: %s', async (path) => {
      const cors = { origin: ['https://page.test'], credentials: true, exposedHeaders: ['ETag'] };
      await using app = await open(cors, before);
      await app.send(path);
      const rejected = await app.send(path, PAGE);
      expect(rejected.status).toBe(429);
      expect(rejected.headers).toMatchObject({
        'access-control-allow-origin': 'https://page.test',
        'access-control-allow-credentials': 'true',
        vary: 'Origin',
      });
      expect(exposed(rejected)).toEqual(['etag', ...LIMITS, 'retry-after']);
      const other = await app.send(path, { headers: { Origin: 'https://other.test' } });
      expect([other.status, other.headers['access-control-allow-origin'] ?? 'none']).toEqual([429, 'none']);
      const plain = await app.send(path);
      expect([plain.status, exposed(plain).includes('retry-after')]).toEqual([429, false]);
    });

    it('a page reads a 503', async () => {
      const store = { consume: () => Promise.reject(new Error('gone')), reset: () => undefined };
      await using app = await open({}, { ...before, store, onStoreFailure: 'closed' });
      const reply = await app.send('/free', PAGE);
      expect([reply.status, reply.headers['access-control-allow-origin'], exposed(reply)]).toEqual([
        503,
        '*',
        ['retry-after'],
      ]);
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

    it('a function of CORS that fails, or answers too late, does not change the rejection', async () => {
      const rejections = unhandledRejections();
      const late: (() => void)[] = [];
      const origin = (of: string | undefined, done: (error: Error | null, allow?: boolean) => void): void => {
        if (of === 'https://page.test') late.push(() => done(null, true));
        else done(of === undefined ? null : new Error('no such origin'), of === undefined);
      };
      await using app = await open({ origin: origin as never }, { ...before, deadlineMs: 20 });
      await app.send('/free');
      const { status, headers } = await app.send('/free', PAGE);
      expect([status, headers['retry-after'], headers['access-control-allow-origin']]).toEqual([429, '60', undefined]);
      expect((await app.send('/free', { headers: { Origin: 'https://other.test' } })).status).toBe(429);
      // It answers when the response is sent: an error here would end the process.
      expect(late).not.toEqual([]);
      for (const answer of late) answer();
      expect(await rejections()).toEqual([]);
    });
  });
});
