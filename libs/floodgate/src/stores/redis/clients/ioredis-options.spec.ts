import { Redis, type RedisOptions } from 'ioredis';
import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from '../../../util/config-error.js';
import { checkIoredisOptions, IOREDIS_OPTIONS, LATER_OPTIONS } from './ioredis-options.js';
import type { RedisConnectionOptions } from './redis-options.js';

type Listed = (typeof IOREDIS_OPTIONS)[number] | keyof typeof LATER_OPTIONS;
type Same<A, B> = [Exclude<A, B>, Exclude<B, A>] extends [never, never] ? readonly string[] : never;
/** These compile only while the lists, the library's type and ioredis's type have the same names, and the types fit. */
const missing: [Same<keyof RedisOptions, Listed>, Same<keyof RedisConnectionOptions, Listed>] = [[], []];
const fitting = (options: RedisOptions): RedisConnectionOptions => options;

const { options: defaults } = new Redis({ lazyConnect: true });
/** The defaults of the oldest ioredis and of the newest one, whichever is installed. */
const older = Object.fromEntries(Object.entries(defaults).filter(([name]) => !Object.hasOwn(LATER_OPTIONS, name)));
const newer = { ...older, ...LATER_OPTIONS };
const check = (options: object): void => checkIoredisOptions(options, newer, 'createLimiter, redis');

describe('the options of ioredis', () => {
  it('are all known', () => {
    expect(missing.flat()).toEqual([]);
    const names = [...IOREDIS_OPTIONS, ...Object.keys(LATER_OPTIONS), ...Object.keys(defaults)];
    expect(() => check(fitting(Object.fromEntries(names.map((name) => [name, undefined]))))).not.toThrow();
  });

  it('may be newer than the installed ioredis', () => {
    for (const name of Object.keys(LATER_OPTIONS)) {
      expect(() => checkIoredisOptions({ [name]: undefined }, older, 'createLimiter, redis')).toThrow(
        `createLimiter, redis: '${name}' is an option of a newer ioredis than the installed one: npm install ioredis@latest`,
      );
    }
  });

  it.each<[string, object, string]>([
    ['hosst', { hosst: 'redis.internal' }, "'hosst' is not an option of ioredis: did you mean host?"],
    ['Host', { Host: 'redis.internal' }, "'Host' is not an option of ioredis: did you mean host?"],
    ['passwrd', { passwrd: 'secret' }, "'passwrd' is not an option of ioredis: did you mean password?"],
    [
      'url',
      { url: 'redis://:secret@redis.internal' },
      "'url' is not an option of ioredis: give the URL itself, redis: 'redis://host:6379'",
    ],
    ['url, undefined', { url: undefined }, "'url' is not an option of ioredis: give the URL itself"],
    ['socket', { socket: { host: 'redis.internal' } }, 'socket belongs to node-redis; give host and port'],
    ['rootNodes', { rootNodes: [] }, 'for a Cluster, give a client: redis: createCluster({ rootNodes })'],
    ['anything else', { colour: 'red' }, "'colour' is not an option of ioredis"],
  ])('are refused when unknown: %s', (_, options, problem) => {
    expect(() => check(options)).toThrow(RateLimitConfigError);
    expect(() => check(options)).toThrow(/^createLimiter, redis: '/);
    expect(() => check(options)).toThrow(problem);
    expect(() => check(options)).not.toThrow('secret');
  });

  it.each([
    [{ port: 'abc' }, "port must be a whole number from 1 to 65535, got 'abc'"],
    [{ port: 70_000 }, 'port must be a whole number from 1 to 65535, got 70000'],
    [{ host: 5 }, 'host must be a text, such as localhost, got 5'],
  ])('are refused where they lead nowhere: %j', (options, problem) => {
    expect(() => check(options)).toThrow(`createLimiter, redis: ${problem}`);
  });
});
