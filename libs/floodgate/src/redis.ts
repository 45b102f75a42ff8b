export { RedisStore, type RedisStoreOptions } from './stores/redis/redis.store.js';
export type { RedisClient } from './stores/redis/clients/redis-client.js';
export type { RedisConnectionOptions } from './stores/redis/clients/redis-options.js';
