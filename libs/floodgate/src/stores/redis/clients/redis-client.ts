/** The part of a client of the application that the store uses. ioredis's `Redis` and `Cluster` have it. */
export interface RedisCommands {
  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: string };
}

/** What `createClient`, `createCluster`, `createSentinel` and `createClientPool` of the package `redis` (node-redis, 5 and 6) return. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  evalSha(...args: never[]): Promise<unknown>;
  sendCommand(...args: never[]): Promise<unknown>;
  close(): unknown;
  destroy(): unknown;
}

/** A client of the application: of ioredis, of node-redis, or any other that has `evalsha`, `eval` and `del` as ioredis does. */
export type RedisClient = RedisCommands | NodeRedisClient;

/** Whether `value` is a ready client, by its methods: two copies of a package in a dependency tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  return isRedisCommands(value) || isNodeRedisClient(value);
}

/** Whether `value` has the commands as ioredis names them, and takes their arguments as ioredis does. */
export function isRedisCommands(value: unknown): value is RedisCommands {
  if (!hasMethods(value, ['evalsha', 'eval', 'del'])) return false;
  return !isCallbackClient(value) && !isUpstash(value) && !isPipeline(value);
}

/** Whether `value` is a `pipeline()` or a `multi()` of ioredis, which sends nothing until `exec()`. */
export function isPipeline(value: unknown): boolean {
  return (value as { readonly isPipeline?: unknown }).isPipeline === true;
}

/** Whether `value` is a client of node-redis that answers by callbacks: of version 3 or older, or of version 4 in `legacyMode`. */
function isCallbackClient(value: unknown): boolean {
  if (hasMethods(value, ['internal_send_command'])) return true;
  // Version 4 without `legacyMode` has no `evalsha`, and throws where `v4` is read.
  return hasMethods(value, ['evalsha', 'evalSha']) && typeof (value as { readonly v4?: unknown }).v4 === 'object';
}

/** Whether `value` is a client of @upstash/redis, which takes keys and arguments as arrays, and sends them over HTTP. */
export function isUpstash(value: unknown): boolean {
  return hasMethods(value, ['evalsha', 'createScript']);
}

/** Whether `value` is a client of node-redis. Version 4 has no `destroy`, and other answers. */
export function isNodeRedisClient(value: unknown): value is NodeRedisClient {
  return hasMethods(value, ['evalSha', 'sendCommand', 'close', 'destroy']);
}

/** Whether a client of node-redis has several servers: a `createCluster` or a `createSentinel`. */
export function isNodeRedisGroup(client: unknown): boolean {
  return hasMethods(client, ['nodeClient']) || hasMethods(client, ['getSentinelNode']);
}

/** Whether `value` is a client of a node-redis that is too old. */
export function isOldNodeRedisClient(value: unknown): boolean {
  if (isNodeRedisClient(value)) return false;
  return isCallbackClient(value) || hasMethods(value, ['sendCommand', 'disconnect', 'duplicate']);
}

export function hasMethods(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
