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

  it.each(BUCKETS)(
    "%s: while pods of both versions decide, neither frees a part of the other one's charges",
    async (_, of) => {
      expect(await passed(of(LARGE), LARGE + 5)).toBe(LARGE);
      let more = 0;
      for (let i = 0; i < 3 * SMALL; i++) {
        more += await passed(of(SMALL), 1);
        more += await passed(of(LARGE), 1);
      }
      expect(more).toBe(SMALL);
    },
  );

  it.each(BUCKETS)('%s: the same holds where the version with the smaller capacity comes first', async (_, of) => {
    expect(await passed(of(SMALL), SMALL + 5)).toBe(SMALL);
    let more = 0;
    for (let i = 0; i < LARGE + SMALL; i++) {
      more += await passed(of(LARGE), 1);
      more += await passed(of(SMALL), 1);
    }
    expect(more).toBe(LARGE);
  });
}

describe('a bucket whose capacity a deploy changed, in memory', () => {
  tests(() => ({}));
});

describe('a bucket whose capacity a deploy changed, in Redis', () => {
  const redis = useRedis();
  tests(() => ({ redis: redis.server.url }));
});
