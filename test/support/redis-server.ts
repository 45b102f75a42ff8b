export { RedisServer, type RedisServerOptions, randomPort } from '../../tools/redis-server.js';
