export { RedisServer, type RedisServerOptions, randomPort } from '../../src/surge/processes/redis-server.js';
