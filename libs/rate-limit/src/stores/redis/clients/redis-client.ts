/** The part of a client of the application that the store uses. ioredis's `Redis` and `Cluster` have it. */
export interface RedisClient {
  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: string };
}

/** Whether `value` is a ready client, by its methods: two copies of ioredis in a dependency tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  const client = value as Record<string, unknown>;
  return typeof client.evalsha === 'function' && typeof client.eval === 'function' && typeof client.del === 'function';
}
