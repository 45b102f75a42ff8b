import { RateLimitConfigError } from '../../../util/config-error.js';
import {
  hasMethods,
  isNodeRedisGroup,
  isOldNodeRedisClient,
  isPipeline,
  isRedisClient,
  isUpstash,
  type RedisClient,
} from './redis-client.js';

/** What would be right as `redis`. */
export const WANTED_REDIS =
  'a redis:// or rediss:// URL, ioredis options, or a client of ioredis or node-redis (the package redis)';

/** Whether `redis` is a URL, options or a client, as far as can be told without loading a client's package. */
export function isGivenRedis(redis: unknown): boolean {
  if (typeof redis === 'string') return redis === '' || isRedisUrl(redis);
  if (typeof redis !== 'object' || redis === null) return false;
  if (isRedisClient(redis)) return true;
  return !hasCommands(redis) && [Object.prototype, null].includes(Object.getPrototypeOf(redis) as object | null);
}

/** Names what was given instead, and never shows it: a URL or options may hold a password. */
export function gotRedis(redis: unknown): string {
  if (typeof redis === 'string') return gotText(redis);
  if (typeof redis === 'function') return gotFunction(redis);
  if (Array.isArray(redis)) return 'an array: for a Cluster, give a client, as in redis: new Cluster(nodes)';
  if (typeof redis !== 'object' || redis === null) return redis === null ? 'null' : `a ${typeof redis}`;
  if (isNodeRedisGroup(redis)) return GROUP;
  const made = ofClient(redis);
  if (made !== undefined) return made;
  if (isOldNodeRedisClient(redis)) return 'a client of node-redis before version 5: npm install redis@latest';
  if (isUpstash(redis)) return 'a client of @upstash/redis, which speaks HTTP: give the rediss:// URL of the database';
  if (hasMethods(redis, ['then'])) return 'a promise: await it before (with Nest, in forRootAsync)';
  if (hasMethods(redis, ['customCommand'])) return 'a client of Valkey GLIDE: give a URL, and install ioredis or redis';
  if (hasCommands(redis)) return `an object with ${listed(redis, true)}, and without ${listed(redis, false)}`;
  const name = className(redis);
  return name === '' ? 'an object of a class without a name' : `an object of the class ${name}`;
}

const GROUP =
  'a createCluster or createSentinel of node-redis, whose nodes the limiter connects by itself: give it as the option redis. A createSentinel ' +
  'of version 5 has no duplicate(): npm install redis@latest, or give ioredis options';

/** What a method of a client returns, and is no client itself. */
function ofClient(value: object): string | undefined {
  if (isPipeline(value)) return 'a pipeline() or multi() of ioredis: give the client itself';
  if (hasMethods(value, ['evalSha', 'exec'])) return 'a multi() of node-redis: give the client itself';
  // Every client that connects has one of the two.
  const connects = hasMethods(value, ['destroy']) || hasMethods(value, ['disconnect']);
  if (connects || !hasMethods(value, ['evalSha', 'sendCommand', 'multi'])) return undefined;
  return 'a legacy() of node-redis, which takes callbacks: give the client itself';
}

function gotFunction(given: { readonly name: string; readonly prototype?: unknown }): string {
  if (!hasMethods(given.prototype, ['evalsha'])) return 'a function: give what it returns';
  const name = /^\w{1,40}$/.test(given.name) ? given.name : 'Redis';
  return `the class ${name}: give a client, as in redis: new ${name}(${name === 'Cluster' ? 'nodes' : ''})`;
}

/**
 * Checks that a `RedisStore` can use a client as it is.
 *
 * @throws {RateLimitConfigError} for what is no client, and for a client of node-redis that has several servers
 */
export function checkUsable(given: unknown): asserts given is RedisClient {
  if (isRedisClient(given) && !isNodeRedisGroup(given)) return;
  throw new RateLimitConfigError(
    'RedisStore',
    `takes a client of ioredis or node-redis, or one with evalsha, eval and del, got ${gotRedis(given)}`,
  );
}

const COMMANDS = ['evalsha', 'eval', 'del'];

/** Whether an object is meant as a client: it has some of the commands. */
function hasCommands(value: object): boolean {
  return COMMANDS.some((name) => hasMethods(value, [name]));
}

function listed(value: object, had: boolean): string {
  return COMMANDS.filter((name) => hasMethods(value, [name]) === had).join(' and ');
}

function isRedisUrl(text: string): boolean {
  return /^rediss?:\/\//.test(text) && URL.canParse(text);
}

function gotText(text: string): string {
  const [, scheme] = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(text) ?? [];
  if (scheme === undefined) return 'a text that does not begin with redis://';
  if (!/^rediss?$/i.test(scheme)) return `a URL that begins with ${scheme}://`;
  if (!URL.canParse(text)) return 'a URL that cannot be parsed: in a password, / is written %2F';
  return scheme === scheme.toLowerCase() ? 'a URL' : `a URL that begins with ${scheme}://, in capitals`;
}

function className(value: object): string {
  const { constructor } = value as { constructor?: { name?: string } };
  const name = typeof constructor === 'function' ? (constructor.name ?? '') : '';
  return /^\w{1,40}$/.test(name) ? name : '';
}
