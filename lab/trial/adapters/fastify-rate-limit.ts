import rateLimit from '@fastify/rate-limit';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import type { Adapter } from '../adapter.js';
import { overHttp } from '../over-http.js';

export default {
  name: '@fastify/rate-limit',
  packages: ['@fastify/rate-limit', 'fastify', 'ioredis'],
  definition: 'window',
  note: 'With ioredis set up as in its example.',
  retryAfterUnitMs: 1_000,
  offers: {
    limit: 'README: max: maximum number of requests a single client can perform inside a timeWindow',
    shared: 'README: redis: ... if an application runs on multiple servers, an external store will be needed',
    'retry-after': 'README: retry-after: the seconds the client must wait before they can make new requests',
  },
  lacks: ['cost', 'huge-cost', 'zero-cost', 'several'],
  create: async ({ redisUrl, limit: max, windowMs: timeWindow }) => {
    // As its example sets up ioredis.
    const redis = new Redis(redisUrl, { connectTimeout: 500, maxRetriesPerRequest: 1 }).on('error', () => undefined);
    const app = fastify();
    const keyGenerator = ({ headers }: { headers: NodeJS.Dict<string | string[]> }) => String(headers['x-client']);
    await app.register(rateLimit, { max, timeWindow, redis, keyGenerator });
    app.get('/', () => 'Hello!');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return overHttp(app.server);
  },
} satisfies Adapter as Adapter;
