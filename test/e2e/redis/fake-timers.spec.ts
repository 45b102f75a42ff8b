import { expect, it, jest } from '@jest/globals';
import { RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RedisServer } from '../../support/redis-server.js';

const redis = useRedis();
const POLICY = { name: 'rides', algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const;

/** Node's sockets need the real one. */
const FAKED = { doNotFake: ['nextTick' as const] };

it('decides on Redis while a test fakes all timers', async () => {
  await using app = await start('Express', {
    imports: [RateLimitModule.forRoot({ redis: redis.server.url, deadline: '10s' })],
  });
  const limiter = app.app.get(RateLimiter);
  jest.useFakeTimers(FAKED);
  const decisions = [];
  for (let i = 0; i < 4; i++) decisions.push(await limiter.consume(POLICY, { kind: 'user', value: 'ada' }));
  // Two in one turn share a call.
  const two = ['lin', 'lin'].map((value) => limiter.consume(POLICY, { kind: 'user', value }));
  decisions.push(...(await Promise.all(two)));
  jest.useRealTimers();
  expect(decisions.map(({ allowed, decidedBy }) => [allowed, decidedBy])).toEqual([
    [true, 'store'],
    [true, 'store'],
    [true, 'store'],
    [false, expect.anything()],
    [true, 'store'],
    [true, 'store'],
  ]);
});

it('answers by the deadline while a test fakes all timers and Redis hangs', async () => {
  await using hanging = await RedisServer.start();
  await using app = await start('Express', { imports: [RateLimitModule.forRoot({ redis: hanging.url })] });
  const limiter = app.app.get(RateLimiter);
  await limiter.consume(POLICY, { kind: 'user', value: 'eve' });
  hanging.pause();
  jest.useFakeTimers(FAKED);
  const { decidedBy } = await limiter.consume(POLICY, { kind: 'user', value: 'eve' });
  jest.useRealTimers();
  hanging.resume();
  expect(decidedBy).toBe('local');
});
