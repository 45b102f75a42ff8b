import { Redis } from 'ioredis';
import { describe, expect, it } from '@jest/globals';
import { monotonicClock, wallClock } from './clock.js';
import { shown } from '../util/config-error.js';
import type { Duration } from '../util/duration.js';
import { MemoryStore } from './memory/memory.store.js';
import { RedisStore } from './redis/redis.store.js';
import type { Clock, RateLimitStore } from './store.js';

interface Options {
  clock?: Clock;
  maxSkew?: Duration;
}

const redis = new Redis({ lazyConnect: true });

describe.each<[string, (options: Options) => RateLimitStore]>([
  ['MemoryStore', (options) => new MemoryStore(options)],
  ['RedisStore', (options) => new RedisStore(redis, options)],
])('%s', (name, create) => {
  it.each<[string, Clock]>([
    ['the wall clock', wallClock],
    ['a clock that never steps', monotonicClock],
    ['a virtual clock from 1', () => 1],
    ['a clock that is an hour ahead', () => (Date.now() + 3_600_000) * 1000],
  ])('takes %s', (_, clock) => {
    expect(() => create({ clock })).not.toThrow();
  });

  it.each<[string, Clock]>([
    ['Date.now', Date.now],
    ['a clock a little behind', () => Date.now() - 900],
  ])('refuses milliseconds: %s', (_, clock) => {
    expect(() => create({ clock })).toThrow(
      `${name}: clock must return microseconds since 1970, but returns milliseconds: multiply by 1000, as in () => Date.now() * 1000`,
    );
  });

  it.each([0, 0.5, 250, 10_000, '0.5ms', '10s'])('takes maxSkew %p', (maxSkew) => {
    expect(() => create({ clock: wallClock, maxSkew })).not.toThrow();
  });

  it.each([-1, NaN, 10_001, Infinity, 0.0001, '11s', '500', ''])('refuses maxSkew %p', (maxSkew) => {
    expect(() => create({ clock: wallClock, maxSkew })).toThrow(
      `${name}: maxSkew must be a duration from 0 to '10s', got ${shown(maxSkew)} (see`,
    );
  });
});
