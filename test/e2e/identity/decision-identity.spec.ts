import { Controller, type ExecutionContext, Get, Injectable } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type DecisionEvent,
  type FixedWindowPolicy,
  identityTag,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS, start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(20_000);

const window = (name: string, by: FixedWindowPolicy['by'], limit = 9): FixedWindowPolicy => ({
  name,
  by,
  algorithm: 'fixed-window',
  limit,
  window: '300d',
});
const KEY = 'sk-live-very-secret';
const HEADERS = { 'X-User-Id': 'ada', 'X-API-Key': KEY };
const HASHED_KEY = identityTag({ kind: 'api-key', value: KEY });

@Controller()
class Routes {
  @Get()
  @RateLimit(
    { ...window('user', 'user'), candidate: { limit: 1 } },
    window('key', 'api-key'),
    window('address', 'ip'),
    window('all', 'global'),
  )
  get(): void {}
}

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({})],
  ['in Redis', () => ({ redis: server.url, deadline: '10s', keyPrefix: `d${Math.random()}` })],
];
const CASES = PLATFORMS.flatMap((platform) => STORES.map(([name, options]) => [platform, name, options] as const));

describe.each(CASES)('over %s, %s, an event of onDecision', (platform, _, store) => {
  async function begin(options: RateLimitModuleOptions): Promise<{ app: HttpApp; events: DecisionEvent[] }> {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): void => void events.push(event);
    const policies = { emails: window('emails', 'user', 1) };
    return {
      app: await limited(platform, Routes, { identity: FROM_HEADERS, policies, onDecision, ...store(), ...options }),
      events,
    };
  }

  it('names no identity by default', async () => {
    const { app, events } = await begin({});
    await using http = app;
    await http.send('/', { headers: HEADERS });
    expect(events.map((event) => 'identities' in event)).toEqual([false]);
    expect(JSON.stringify(events)).not.toMatch(/ada|very-secret|127\.0/);
  });

  it('names whom each policy counted by the tag, also whom a policy in shadow would reject; an API key is a hash', async () => {
    const { app, events } = await begin({ decisionIdentity: 'tag' });
    await using http = app;
    for (let i = 0; i < 2; i++) await http.send('/', { headers: HEADERS });
    const tags = {
      user: 'user:ada',
      'user.candidate': 'user:ada',
      key: HASHED_KEY,
      address: 'ip:127.0.0.1',
      all: 'global:all',
    };
    expect(events.map(({ identities }) => identities)).toEqual([tags, tags]);
    const [shadow] = events[1]!.decision.shadow!;
    expect([shadow!.allowed, events[1]!.identities![shadow!.policy]]).toEqual([false, 'user:ada']);
    expect(JSON.stringify(events)).not.toContain('very-secret');
  });

  it('names it by a hash, which is the same each time and different for others', async () => {
    const { app, events } = await begin({ decisionIdentity: 'hash' });
    await using http = app;
    await http.send('/', { headers: HEADERS });
    await http.send('/', { headers: HEADERS });
    await http.send('/', { headers: { ...HEADERS, 'X-User-Id': 'bob' } });
    const [first, second, third] = events.map(({ identities }) => identities!);
    expect(second).toEqual(first);
    expect(first).toEqual({
      user: expect.stringMatching(/^user:#[\w-]{22}$/),
      'user.candidate': first!['user'],
      key: HASHED_KEY,
      address: expect.stringMatching(/^ip:#[\w-]{22}$/),
      all: expect.stringMatching(/^global:#[\w-]{22}$/),
    });
    expect(third!['user']).not.toBe(first!['user']);
    expect(JSON.stringify(events)).not.toMatch(/ada|bob|very-secret|127\.0/);
  });

  it('names it for RateLimiter, the denial cache and overrides as well', async () => {
    const { app, events } = await begin({ decisionIdentity: 'tag' });
    await using http = app;
    const limiter = http.app.get(RateLimiter);
    const ada = { kind: 'user', value: 'ada' };
    for (let i = 0; i < 3; i++) await limiter.consume('emails', ada);
    await http.app.get(RateLimitOverrides).set({ policy: 'emails', identity: ada }, { exempt: true });
    await limiter.consume('emails', ada);
    await http.app.get(RateLimitOverrides).set({ policy: 'emails', identity: ada }, { blocked: true });
    await limiter.consume('emails', ada);
    expect(events.map(({ decision, identities }) => [decision.allowed, identities])).toEqual(
      [true, false, false, true, false].map((allowed) => [allowed, { emails: 'user:ada' }]),
    );
  });

  it('hashes an API key even where a guard of the application has made its tag', async () => {
    @Injectable()
    class OwnGuard extends RateLimitGuard {
      protected override identityTag(_policy: unknown, context: ExecutionContext): string {
        return `key:${context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-api-key']}`;
      }
    }
    const events: DecisionEvent[] = [];
    await using app = await start(platform, {
      imports: [
        RateLimitModule.forRoot({
          guard: false,
          decisionIdentity: 'tag',
          onDecision: (event) => void events.push(event),
          ...store(),
        }),
      ],
      providers: [{ provide: APP_GUARD, useClass: OwnGuard }],
      controllers: [Routes],
    });
    await app.send('/', { headers: HEADERS });
    expect(events[0]!.identities!['user']).toMatch(/^key:#[\w-]{22}$/);
    expect(JSON.stringify(events)).not.toContain('very-secret');
  });
});
