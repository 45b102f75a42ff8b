import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, start } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const LARGE = 100;
const SMALL = 10;

/** Buckets that let `atOnce` requests pass at once: in a leaky bucket the departing request takes no waiting place. */
const BUCKETS: [Policy['algorithm'], (atOnce: number) => Policy][] = [
  ['token-bucket', (capacity) => ({ name: 'changed', algorithm: 'token-bucket', capacity, refill: '1/h' })],
  ['leaky-bucket', (atOnce) => ({ name: 'changed', algorithm: 'leaky-bucket', capacity: atOnce - 1, drain: '1/h' })],
];

function tests(options: () => RateLimitModuleOptions): void {
  let app: HttpApp;

  beforeEach(async () => {
    app = await start('Express', { imports: [RateLimitModule.forRoot(options())] });
  });
  afterEach(() => app.close());

  /** How many of `count` sequential requests pass the policy. */
  async function passed(policy: Policy, count: number): Promise<number> {
    const limiter = app.app.get(RateLimiter);
    let allowed = 0;
    for (let i = 0; i < count; i++) {
      const decision = await limiter.consume(policy, { kind: 'user', value: 'ada' });
      expect(decision.decidedBy).toBe('store');
      if (decision.allowed) allowed++;
    }
    return allowed;
  }

  it.each(BUCKETS.flatMap(([name, of]) => [[name, of, LARGE, SMALL] as const, [name, of, SMALL, LARGE] as const]))(
    "%s: while pods of both versions decide, neither frees a part of the other one's charges (%#)",
    async (_, of, first, second) => {
      expect(await passed(of(first), first + 5)).toBe(first);
      let more = 0;
      for (let i = 0; i < second + 10; i++) {
        more += await passed(of(second), 1);
        more += await passed(of(first), 1);
      }
      expect(more).toBe(second);
    },
  );
}

describe('a bucket whose capacity a deploy changed, in memory', () => {
  tests(() => ({}));
});

describe('a bucket whose capacity a deploy changed, in Redis', () => {
  const redis = useRedis();
  tests(() => ({ redis: redis.server.url, deadline: '10s' }));
});
