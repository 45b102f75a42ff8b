import { Controller, type ExecutionContext, Get, Injectable } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import * as ours from 'nestjs-floodgate/throttler';
import {
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  ThrottlerModule,
  type ThrottlerRequest,
} from 'nestjs-floodgate/throttler';
import { PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { methodOf, Routes, throttled, TWO } from './support/throttled.js';

describe('ThrottlerGuard', () => {
  it.each(PLATFORMS)('asks its overridden steps over %s', async (platform) => {
    @Injectable()
    class OwnGuard extends ThrottlerGuard {
      protected override headerPrefix = 'X-Own';
      // oxlint-disable-next-line typescript/no-explicit-any -- the shape of @nestjs/throttler
      protected override async getTracker(req: Record<string, any>): Promise<string> {
        return req.headers['x-user'] as string;
      }
      protected override generateKey(_context: ExecutionContext, suffix: string, name: string): string {
        return `all routes of ${suffix}, ${name}`;
      }
      protected override async shouldSkip(context: ExecutionContext): Promise<boolean> {
        return context.switchToHttp().getRequest().headers['x-user'] === 'root';
      }
      protected override async getErrorMessage(
        _context: ExecutionContext,
        detail: ThrottlerLimitDetail,
      ): Promise<string> {
        return `${detail.tracker} ${detail.key} ${detail.totalHits}/${detail.limit} ${detail.ttl} ${detail.timeToBlockExpire}`;
      }
    }
    await using app = await start(platform, {
      imports: [ThrottlerModule.forRoot([TWO])],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: OwnGuard }],
    });
    const ada = { headers: { 'x-user': 'ada' } };
    expect((await app.send('/one', ada)).headers).toMatchObject({
      'x-own-limit': '2',
      'x-own-remaining': '1',
      'x-own-reset': '60',
    });
    expect((await app.send('/other', ada)).status).toBe(200);
    const rejected = await app.send('/one', ada);
    expect(rejected.body).toEqual({ statusCode: 429, message: 'ada all routes of ada, default 3/2 60000 60' });
    expect(await app.statuses(3, '/one', { headers: { 'x-user': 'grace' } })).toEqual([200, 200, 429]);
    expect(await app.statuses(3, '/one', { headers: { 'x-user': 'root' } })).toEqual([200, 200, 200]);
  });

  it('asks handleRequest for each throttler, and a storage that it may ask itself', async () => {
    const asked: [string | undefined, number, number, number][] = [];
    class Counting extends ThrottlerGuard {
      protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
        const { throttler, limit, ttl, blockDuration, context } = request;
        asked.push([throttler.name, limit, ttl, blockDuration]);
        const { isBlocked } = await this.storageService.increment('key', ttl, limit, blockDuration, throttler.name!);
        if (isBlocked) context.switchToHttp().getResponse().header('X-Blocked', 'yes');
        return true;
      }
    }
    await using app = await throttled(
      [
        { name: 'long', limit: 9, ttl: 9000, blockDuration: 0 },
        { limit: 1, ttl: 5000 },
      ],
      [Routes],
      Counting,
    );
    await app.send('/one');
    expect((await app.send('/one')).headers['x-blocked']).toBe('yes');
    expect(asked.slice(0, 2)).toEqual([
      ['default', 1, 5000, 5000],
      ['long', 9, 9000, 0],
    ]);
  });

  it('reads decorations by its reflector, and passes what throwThrottlingException lets pass', async () => {
    const Lenient = Reflector.createDecorator<boolean>();
    class Decorated extends ThrottlerGuard {
      protected override async throwThrottlingException(context: ExecutionContext, detail: ThrottlerLimitDetail) {
        if (!this.reflector.get(Lenient, context.getHandler())) await super.throwThrottlingException(context, detail);
      }
    }
    @Controller()
    class Some {
      @Get('free')
      @Lenient(true)
      free(): void {}
      @Get('counted')
      counted(): void {}
    }
    await using app = await throttled([{ limit: 1, ttl: 60_000 }], [Some], Decorated);
    expect(await app.statuses(3, '/free')).toEqual([200, 200, 200]);
    expect(await app.statuses(2, '/counted')).toEqual([200, 429]);
  });

  it('sets no headers with setHeaders: false, of one throttler or of all', async () => {
    await using none = await throttled({ throttlers: [TWO], setHeaders: false });
    expect(Object.keys((await none.send('/one')).headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    await using one = await throttled({
      throttlers: [
        { ...TWO, setHeaders: false },
        { ...TWO, name: 'long' },
      ],
    });
    expect(
      Object.keys((await one.send('/one')).headers).filter((name) => name.endsWith('limit') || name.endsWith('long')),
    ).toEqual(['x-ratelimit-limit-long', 'x-ratelimit-remaining-long', 'x-ratelimit-reset-long']);
  });

  it('keeps keys apart by a mark of its own, and lets them expire with their hits', async () => {
    const store = new StillStore();
    await using app = await throttled({ throttlers: [TWO], store, keyPrefix: 'own' });
    await app.send('/one');
    for (const key of store.keys)
      expect(key).toMatch(/^own:\{throttler:[0-9a-f]{64}\}:throttler:default(?: block| period)?:swl:60000000$/);
    expect(store.keys).toHaveLength(3);
  });

  it('is made with new as well, for tests of an application', async () => {
    const guard = new ThrottlerGuard(
      [{ limit: 1, ttl: 60_000 }],
      new ours.ThrottlerStorageService(),
      undefined as never,
    );
    await guard.onModuleInit();
    const headers: Record<string, unknown> = {};
    const http = {
      getRequest: () => ({ ip: '1.2.3.4', headers: {} }),
      getResponse: () => ({ header: (name: string, value: unknown) => (headers[name] = value) }),
    };
    const context = {
      getHandler: () => methodOf(Routes, 'one'),
      getClass: () => Routes,
      switchToHttp: () => http,
    } as unknown as ExecutionContext;
    await expect(guard.canActivate(context)).resolves.toBe(true);
    await expect(guard.canActivate(context)).rejects.toThrow(ours.ThrottlerException);
    expect(headers).toMatchObject({ 'X-RateLimit-Remaining': 0, 'Retry-After': 60 });
  });
});
