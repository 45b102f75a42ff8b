import { expect, it } from '@jest/globals';
import { FixedWindow } from '../../algorithms/fixed-window/fixed-window.js';
import { SlidingWindowLog } from '../../algorithms/sliding-window-log/sliding-window-log.js';
import { TokenBucket } from '../../algorithms/token-bucket/token-bucket.js';
import { exactRate } from '../../algorithms/core/rate.js';
import { markOf } from './marks.js';

const DAY = 86_400_000_000;
const KEY = 'rl:{user:ada}:GET /:monthly:fw:86400000000';

it('is a key of its own for each state, level, limit and fixed window, in the slot of the state', () => {
  const days = new FixedWindow(100, DAY);
  const keys = [
    markOf(KEY, days, 0.8, DAY),
    markOf(KEY, days, 1, DAY),
    markOf(KEY, days, 0.8, 2 * DAY),
    markOf(KEY, new FixedWindow(200, DAY), 0.8, DAY),
    markOf(KEY.replace('monthly', 'daily'), days, 0.8, DAY),
    markOf(KEY.replace('ada', 'bob'), days, 0.8, DAY),
  ].map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^rl:\{user:(ada|bob)\}:threshold:#[\w-]{22}$/);
  expect(markOf(KEY, days, 0.8, DAY).key).toBe(keys[0]);
});

it('fits once in a fixed window, and once in the time in which another algorithm grants its limit', () => {
  expect(markOf(KEY, new FixedWindow(100, DAY), 1, DAY).algorithm).toMatchObject({
    name: 'fixed-window',
    limit: 1,
    window: DAY,
  });
  const log = markOf(KEY, new SlidingWindowLog(5, 60_000_000, 5), 1, 0);
  expect(log.algorithm).toMatchObject({ name: 'sliding-window-log', limit: 1, window: 60_000_000 });
  // 20 tokens at 3 a second: 6,666,666.67 microseconds
  const bucket = new TokenBucket(20, exactRate(3, 20));
  const one = markOf(KEY, bucket, 1, 17);
  expect(one.algorithm).toMatchObject({ name: 'sliding-window-log', limit: 1, window: 6_666_667 });
  expect(markOf(KEY, bucket, 1, 18)).toEqual(one);
});
