import { RateLimitConfigError } from '../../../util/config-error.js';
import { isPackageAbsent } from '../../../util/optional-package.js';
import type { OwnedClient } from './client.js';
import { changedIoredisOptions, duplicateIoredis, IOREDIS_VERSIONS, openIoredis } from './open-ioredis.js';
import { changedNodeRedisOptions, duplicateNodeRedis, NODE_REDIS_VERSIONS, openNodeRedis } from './open-node-redis.js';
import { isNodeRedisClient, isRedisCommands, type RedisClient } from './redis-client.js';
import type { RedisConnectionOptions } from './redis-options.js';

/** A client that the store opened. */
export interface OpenedRedis {
  readonly client: OwnedClient;
  /** The package that connects. */
  readonly library: 'ioredis' | 'redis';
  /** The given options that are overruled, each with the value that holds instead. */
  readonly ignored: readonly string[];
}

/**
 * Makes a client for a URL or ioredis options, without connecting. A URL takes ioredis, and `redis` where ioredis is not installed. The
 * package is loaded only here: an application that gives a client, or uses no Redis, need not install it.
 *
 * @param where how errors begin
 * @throws {RateLimitConfigError} when neither package is installed, for an option that is not known, or for what is no database
 */
export async function openRedis(redis: string | RedisConnectionOptions, where: string): Promise<OpenedRedis> {
  try {
    return { ...(await openIoredis(redis, where)), library: 'ioredis' };
  } catch (error) {
    if (!wasAbsent(error, 'ioredis')) throw error;
    if (typeof redis !== 'string') throw optionsWithoutIoredis(where);
  }
  try {
    return { client: await openNodeRedis(redis, where), library: 'redis', ignored: [] };
  } catch (error) {
    if (!wasAbsent(error, 'redis')) throw error;
    throw new RateLimitConfigError(
      where,
      `a URL needs the package ioredis or redis, and neither is installed: npm install "ioredis@${IOREDIS_VERSIONS}" or ` +
        `npm install "redis@${NODE_REDIS_VERSIONS}"`,
      'FG_MISSING_PACKAGE',
    );
  }
}

/**
 * Duplicates a client of the application, which stays as it is. Returns undefined for a client without `duplicate`.
 *
 * @param where how errors begin
 */
export async function duplicateRedis(client: RedisClient, where: string): Promise<OwnedClient | undefined> {
  return isRedisCommands(client) ? duplicateIoredis(client) : duplicateNodeRedis(client, where);
}

/** The options in which the duplicate differs from the client, such as `maxRetriesPerRequest: 0`; functions by their names. */
export function changedOptions(client: RedisClient): string[] {
  return isNodeRedisClient(client) ? changedNodeRedisOptions(client) : changedIoredisOptions(client);
}

function optionsWithoutIoredis(where: string): RateLimitConfigError {
  return new RateLimitConfigError(
    where,
    `options in the place of a URL or a client are for ioredis, which is not installed: npm install "ioredis@${IOREDIS_VERSIONS}"; or, with the ` +
      `package redis, give redis: createClient(options), whose options are those of node-redis, such as { url }`,
    'FG_MISSING_PACKAGE',
  );
}

function wasAbsent(error: unknown, name: string): boolean {
  return error instanceof RateLimitConfigError && isPackageAbsent(error.cause, name);
}
