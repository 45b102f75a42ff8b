import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { app, type HeaderRequest, limitOf, user, userOf } from '../support/planned-routes.js';

const LIMIT_MS = 20_000;

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, a plan that has changed', (kind) => {
  const { platform } = kind;
  const pods = async (count: number, plans: ReadonlyMap<string, string>, asked: string[] = []) => {
    const resolve = async (request: HeaderRequest): Promise<string | undefined> => {
      asked.push(userOf(request));
      return plans.get(userOf(request));
    };
    const options = storeOf(kind, redis);
    const all: HttpApp[] = [];
    for (let i = 0; i < count; i++) all.push(await app(platform, options, { resolve, cacheFor: '24h' }));
    const close = async (): Promise<void> => void (await Promise.all(all.map((http) => http.close())));
    return { all, [Symbol.asyncDispose]: close };
  };

  it('counts from the next request on in its process, and in all others as soon as they hear of it', async () => {
    const plans = new Map([['ada', 'free']]);
    const asked: string[] = [];
    await using started = await pods(kind.store === 'Redis' ? 3 : 1, plans, asked);
    const [first, ...others] = started.all;
    for (const http of started.all) {
      expect(await limitOf(http, 'ada', '/daily')).toBe(3);
      expect(await limitOf(http, 'bob', '/daily')).toBe(3);
    }
    plans.set('ada', 'pro');
    plans.set('bob', 'pro');
    await first!.app.get(RateLimiter).planChanged(user('ada'));
    expect(await limitOf(first!, 'ada', '/daily')).toBe(6);
    for (const http of others) {
      await until('it is heard', LIMIT_MS, async () => (await limitOf(http, 'ada', '/daily')) === 6);
    }
    for (const http of started.all) expect(await limitOf(http, 'bob', '/daily')).toBe(3);
    plans.set('ada', 'free');
    await first!.app.get(RateLimiter).planChanged('user:ada');
    expect(await limitOf(first!, 'ada', '/daily')).toBe(3);
    expect(asked.filter((name) => name === 'bob')).toHaveLength(started.all.length);
    const { items } = await first!.app.get(RateLimitOverrides).history();
    expect(items).toEqual([]);
  });

  it('needs an identity that policies with plans count', async () => {
    await using started = await pods(1, new Map());
    const limiter = started.all[0]!.app.get(RateLimiter);
    for (const wrong of [{ kind: 'usr', value: 'ada' }, undefined, 'ada', { kind: 'api-key', value: 'x' }]) {
      await expect(limiter.planChanged(wrong as never)).rejects.toThrow(RateLimitConfigError);
    }
    await expect(limiter.planChanged({ kind: 'api-key', value: 'x' })).rejects.toThrow(
      `RateLimiter.planChanged: policy 'api' counts by 'user'`,
    );
  });
});
