import type { RedisOptions } from 'ioredis';
import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from '../../../util/config-error.js';
import { checkIoredisOptions as check } from './ioredis-options.js';
import type { RedisConnectionOptions } from './redis-options.js';

/** What the library's connections never use. */
type Unused =
  | 'autoPipeliningIgnoredCommands'
  | 'autoResubscribe'
  | 'blockingTimeout'
  | 'blockingTimeoutGrace'
  | 'commandQueue'
  | 'himportFieldsets'
  | 'offlineQueue'
  | 'scripts';
type Same<A, B> = [Exclude<A, B>, Exclude<B, A>] extends [never, never] ? readonly string[] : never;
/** These compile only while the library's type and ioredis's type have the same names, and the types fit. */
const missing: Same<Exclude<keyof RedisOptions, Unused>, keyof RedisConnectionOptions> = [];
const fitting = (options: RedisOptions): RedisConnectionOptions => options;

describe('the options of ioredis', () => {
  it('are those of its type', () => {
    expect(missing).toEqual([]);
    expect(() => check(fitting({ host: 'redis.internal', tls: {} }))).not.toThrow();
  });

  it.each([{ host: undefined, port: 6379 }, { path: '/tmp/redis.sock' }, { sentinels: [], name: 'one' }])(
    'name a server: %j',
    (options) => {
      expect(() => check(options)).not.toThrow();
    },
  );

  it.each<[string, object, string]>([
    [
      'hosst',
      { hosst: 'redis.internal', port: 1 },
      "no option names the server: give host, path or sentinels, as in { host: 'localhost' }, got 'hosst', 'port'",
    ],
    ['none', {}, "give host, path or sentinels, as in { host: 'localhost' }, got none"],
    [
      'url',
      { url: 'redis://:secret@redis.internal' },
      "'url' is not an option of ioredis: give the URL itself, redis: 'redis://host:6379'",
    ],
    ['url, undefined', { url: undefined }, "'url' is not an option of ioredis: give the URL itself"],
    ['socket', { socket: { host: 'redis.internal' } }, 'socket belongs to node-redis; give host and port'],
    ['rootNodes', { rootNodes: [] }, 'for a Cluster, give a client: redis: createCluster({ rootNodes })'],
  ])('are refused where they name none: %s', (_, options, problem) => {
    expect(() => check(options)).toThrow(RateLimitConfigError);
    expect(() => check(options)).toThrow(/^RateLimitModule, redis: /);
    expect(() => check(options)).toThrow(problem);
    expect(() => check(options)).not.toThrow('secret');
  });

  it.each([
    [{ host: 'localhost', port: 'abc' }, "port must be a whole number from 1 to 65535, got 'abc'"],
    [{ host: 'localhost', port: 70_000 }, 'port must be a whole number from 1 to 65535, got 70000'],
    [{ host: 5 }, 'host must be a text, such as localhost, got 5'],
  ])('are refused where they lead nowhere: %j', (options, problem) => {
    expect(() => check(options)).toThrow(`RateLimitModule, redis: ${problem}`);
  });
});
