import { Controller, Get, type INestApplication, Post } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { describe, expect, it } from '@jest/globals';
import { documentRateLimits, type MiddlewareOptions, RateLimiter, SkipRateLimit } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const ADDRESS = { name: 'address', algorithm: 'token-bucket', capacity: 200, refill: '1/d', by: 'ip' } as const;
const CLIENT = { kind: 'ip', value: '127.0.0.1' };

@Controller()
class Routes {
  @Get('healthz')
  @SkipRateLimit()
  health(): void {}

  @Get('rides')
  list(): void {}

  @Post('webhook')
  @SkipRateLimit('default')
  hook(): void {}
}

const prefixed = { configure: (app: INestApplication) => void app.setGlobalPrefix('api') };
const open = (platform: 'Express' | 'Fastify', middleware: MiddlewareOptions | MiddlewareOptions['policies']) =>
  limited(
    platform,
    Routes,
    { store: new StillStore(), defaults: [{ ...ADDRESS, name: 'default' }], middleware },
    prefixed,
  );

describe.each(PLATFORMS)('what the middleware leaves out over %s', (platform) => {
  it('is never rejected, and charges nothing', async () => {
    await using app = await open(platform, { policies: [ADDRESS], except: ['/api/healthz', '/api/metrics'] });
    expect(await app.crowd(450, '/api/healthz?probe=1')).toEqual({ 200: 450 });
    expect(await app.crowd(10, '/api/metrics')).toEqual({ 404: 10 });
    expect(await app.crowd(201, '/api/rides')).toEqual({ 200: 200, 429: 1 });
    expect(await app.crowd(10, '/api/healthz')).toEqual({ 200: 10 });
    expect(app.logs.of('warn')).toEqual([]);
  });

  it.each([
    '/api/HEALTHZ',
    '/api/healthz/',
    '//api/healthz',
    '/api/./healthz',
    '/api/%68ealthz',
    '/api/healthz;x',
    '/api/healthz/..',
    '/x/../api/healthz',
  ])('is counted in the spelling %s', async (path) => {
    await using app = await open(platform, {
      policies: [{ ...ADDRESS, name: 'strict', capacity: 1 }],
      except: ['/api/healthz'],
    });
    expect((await app.send(path)).status).not.toBe(429);
    expect((await app.send(path)).status).toBe(429);
  });
});

describe('middleware with except', () => {
  it('is shown by table, explain, peek and OpenAPI', async () => {
    await using app = await open('Express', { policies: [ADDRESS], except: ['/api/healthz'] });
    const limiter = app.app.get(RateLimiter);
    expect(limiter.table().middleware).toMatchObject({ policies: [{ name: 'address' }], except: ['/api/healthz'] });
    const names = async (route: string): Promise<string[]> =>
      (await limiter.explain(route, CLIENT)).policies.map(({ policy }) => policy);
    expect([await names('GET /healthz'), await names('GET /rides')]).toEqual([[], ['address', 'default']]);
    const document = SwaggerModule.createDocument(app.app, new DocumentBuilder().build());
    documentRateLimits(document as never, app.app);
    expect(document.paths['/api/healthz']!.get!.responses['429']).toBeUndefined();
    expect(document.paths['/api/rides']!.get!.responses['429']).toBeDefined();
  });

  it.each<[MiddlewareOptions | MiddlewareOptions['policies'], string[]]>([
    [
      [ADDRESS],
      [
        expect.stringContaining(
          "it counts requests to Routes.health, which @SkipRateLimit() leaves out of routes only: give middleware { policies, except: ['/healthz'] }",
        ) as unknown as string,
      ],
    ],
    [{ policies: [ADDRESS] }, [expect.stringContaining('Routes.health') as unknown as string]],
    [{ policies: [ADDRESS], except: [] }, []],
    [{ policies: [ADDRESS], except: ['/api/healthz'] }, []],
    [[{ ...ADDRESS, skipIf: () => false }], []],
  ])('%j warns of skipped handlers that it counts', async (middleware, warnings) => {
    await using app = await open('Express', middleware);
    expect(app.logs.of('warn')).toEqual(warnings);
  });

  it.each<[object, string]>([
    [{ policies: [ADDRESS], except: ['healthz'] }, "got except with 'healthz'"],
    [{ policies: [ADDRESS], except: ['/health*'] }, "got except with '/health*'"],
    [{ policies: [ADDRESS], except: ['/rides/:id'] }, "got except with '/rides/:id'"],
    [{ policies: [ADDRESS], except: '/healthz' }, 'got except that is no array'],
    [{ policies: [ADDRESS], exept: ['/healthz'] }, "got an object with 'exept'"],
    [{ policies: [{ ...ADDRESS, name: undefined }] }, 'got policies that are '],
    [{ except: ['/healthz'] }, 'got policies that are undefined'],
  ])('%j stops the boot', async (middleware, got) => {
    const boot = open('Express', middleware as MiddlewareOptions);
    await expect(boot).rejects.toThrow(
      'middleware must be an array of names, or of policies with a name; or { policies',
    );
    await expect(boot).rejects.toThrow(got);
  });
});
