import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { HttpApp, limited, PLATFORMS, type Reply, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE = { algorithm: 'fixed-window', limit: 1, window: '300d' } as const;

@Controller()
class Routes {
  @Get('one')
  @RateLimit(ONE)
  one(): void {}

  @Get('twice')
  @UseGuards(RateLimitGuard)
  @RateLimit(ONE)
  twice(): void {}

  @Get('open')
  open(): void {}
}

const from = (app: HttpApp, address: string, path = '/one'): Promise<Reply> =>
  app.send(path, { headers: { 'X-Forwarded-For': address } });

const listsOf = (app: HttpApp) => app.app.get(RateLimiter).stats().addresses;

describe.each(PLATFORMS)('over %s, the lists of addresses', (platform) => {
  const serve = (options: RateLimitModuleOptions, trustProxy = true): Promise<HttpApp> =>
    limited(platform, Routes, options, { trustProxy });

  it('let the allowed pass uncounted, and answer the blocked with 403, before anything is charged', async () => {
    const store = new StillStore();
    const allowList = ['10.1.0.0/16', '2001:db8:1::/48', '192.0.2.7'];
    await using app = await serve({
      store,
      allowList,
      blockList: ['10.0.0.0/8', '2001:db8::/32', '::ffff:198.51.100.0/120'],
    });
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:1::5', '192.0.2.7', '10.1.2.3:8080']) {
      for (let i = 0; i < 3; i++) expect(await from(app, address)).toMatchObject({ status: 200 });
    }
    for (const address of ['10.2.0.1', '::ffff:10.2.0.1', '2001:db8:2::5', '198.51.100.9']) {
      const { status, body, headers } = await from(app, address);
      expect({ status, body }).toEqual({
        status: 403,
        body: {
          statusCode: 403,
          error: 'rate_limit_address_blocked',
          message: 'Requests from this address are blocked',
        },
      });
      expect(headers).not.toHaveProperty('retry-after');
      expect(await from(app, address, '/open')).toMatchObject({ status: 403 });
      expect(await from(app, address, '/twice')).toMatchObject({ status: 403 });
    }
    expect(store.asked).toEqual([]);
    expect(listsOf(app)).toEqual({ allowed: 15, blocked: 12 });
    expect((await from(app, '203.0.113.1')).status).toBe(200);
    expect((await from(app, '203.0.113.1')).status).toBe(429);
    expect((await from(app, '203.0.113.1', '/open')).status).toBe(200);
    expect(app.app.get(RateLimiter).stats().requests).toBe(2);
  });

  it('believe X-Forwarded-For as far as the platform does', async () => {
    await using app = await serve({ allowList: ['10.0.0.0/8'], blockList: ['192.0.2.0/24'] }, false);
    expect((await from(app, '192.0.2.1')).status).toBe(200);
    expect((await from(app, '10.0.0.1')).status).toBe(429);
    await using local = await serve({ blockList: ['127.0.0.1'] }, false);
    expect((await from(local, '10.0.0.1')).status).toBe(403);
  });

  it('stand before the middleware, which asks them once for both', async () => {
    const asked: string[] = [];
    const policies = { all: { ...ONE, limit: 2, scope: 'app' } } as const;
    const blockList = (address: string): boolean => asked.push(address) > 0 && address === '192.0.2.1';
    await using app = await serve({ policies, middleware: ['all'], blockList, problem: true });
    expect((await from(app, '192.0.2.2')).status).toBe(200);
    expect(await from(app, '192.0.2.1', '/nowhere')).toMatchObject({
      status: 403,
      headers: { 'content-type': 'application/problem+json; charset=utf-8' },
      body: { type: 'about:blank', title: 'Forbidden', status: 403, detail: 'Requests from this address are blocked' },
    });
    expect(asked).toEqual(['192.0.2.2', '192.0.2.1']);
    expect(listsOf(app)).toEqual({ allowed: 0, blocked: 1 });
  });

  it('count an address as not listed when a function fails, and say so without the address', async () => {
    const broken = (): never => {
      throw new Error('no list');
    };
    await using app = await serve({ allowList: broken, blockList: broken });
    expect((await from(app, '192.0.2.2')).status).toBe(200);
    expect(app.app.get(RateLimiter).stats().functionFailures.list).toBe(2);
    expect(app.logs.text).toContain('allowList failed, the address counts as not in the list: no list');
    expect(app.logs.text).not.toContain('192.0.2.2');
  });

  it('take functions, which get the request', async () => {
    const blockList = async (address: string, { url }: RateLimitRequest, context: ExecutionContext) =>
      address === '192.0.2.1' && url === '/one' && context.getHandler().name === 'one';
    await using app = await serve({ blockList });
    expect((await from(app, '192.0.2.1')).status).toBe(403);
    expect((await from(app, '192.0.2.1', '/open')).status).toBe(200);
  });
});

describe('a list of addresses', () => {
  const NETWORK = `must be an address such as '203.0.113.7' or a range such as '10.0.0.0/8' or '2001:db8::/32'`;

  it.each<[string, string]>([
    ['10.0.0.0/33', 'must have 0 to 32 bits after the slash'],
    ['10.0.0.0/255.0.0.0', 'must have 0 to 32 bits after the slash'],
    ['10.0.0.1/8', `must begin at its first address, as '10.0.0.0/8' or '10.0.0.1' do`],
    ['::ffff:10.0.0.0/8', 'must have 96 to 128 bits where it maps IPv4'],
    ['10.1', NETWORK],
    ['localhost', NETWORK],
  ])('stops the boot for %j, with its index', async (wrong, message) => {
    const blockList = ['192.0.2.0/24', wrong];
    const booting = start('Express', { imports: [RateLimitModule.forRoot({ blockList })] });
    await expect(booting).rejects.toThrow(`RateLimitModule, blockList[1]: ${message}, got '${wrong}'`);
  });
});
