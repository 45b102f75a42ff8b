import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  type FixedWindowPolicy,
  identityTag,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

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
    window('user', 'user'),
    { ...window('tried', 'user', 1), mode: 'shadow' },
    window('key', 'api-key'),
    window('address', 'ip'),
    window('all', 'global'),
  )
  get(): void {}
}

const redis = useRedis();

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({})],
  ['in Redis', () => ({ redis: redis.server.url, deadline: '10s' })],
];

describe.each(STORES)('%s, an event of onDecision', (_, store) => {
  async function begin(options: RateLimitModuleOptions): Promise<{ app: HttpApp; events: DecisionEvent[] }> {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): void => void events.push(event);
    const policies = { emails: window('emails', 'user', 1) };
    return {
      app: await limited('Express', Routes, { identity: FROM_HEADERS, policies, onDecision, ...store(), ...options }),
      events,
    };
  }

  it('names whom each policy counted by the tag, also whom a policy in shadow would reject; an API key is a hash', async () => {
    const { app, events } = await begin({ decisionIdentity: 'tag' });
    await using http = app;
    for (let i = 0; i < 2; i++) await http.send('/', { headers: HEADERS });
    const tags = {
      user: 'user:ada',
      tried: 'user:ada',
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
      tried: first!['user'],
      key: HASHED_KEY,
      address: expect.stringMatching(/^ip:#[\w-]{22}$/),
      all: expect.stringMatching(/^global:#[\w-]{22}$/),
    });
    expect(third!['user']).not.toBe(first!['user']);
    // Names a user beside its kind: chance can write three letters into a hash, and 127.0 into an instant.
    expect(JSON.stringify(events)).not.toMatch(/"ada"|"bob"|user:ada|user:bob|very-secret|127\.0\.0\.1/);
    const none = await begin({});
    await using silent = none.app;
    await silent.send('/', { headers: HEADERS });
    expect(none.events.map((event) => 'identities' in event)).toEqual([false]);
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
});
