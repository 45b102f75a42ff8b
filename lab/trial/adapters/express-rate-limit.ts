import { once } from 'node:events';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore, type RedisReply } from 'rate-limit-redis';
import type { Adapter } from '../adapter.js';
import { overHttp } from '../over-http.js';

export default {
  name: 'express-rate-limit',
  packages: ['express-rate-limit', 'rate-limit-redis', 'express', 'ioredis'],
  definition: 'window',
  note: 'Several limits by several middlewares.',
  retryAfterUnitMs: 1_000,
  offers: {
    limit: 'README: limit: 100, // Limit each IP to 100 requests per `window`',
    shared: 'README: [`store`]: Use a custom store to share hit counts across multiple nodes.',
    'retry-after': 'docs, windowMs: Also used in the `Retry-After` header when the limit is reached.',
  },
  lacks: ['cost', 'huge-cost', 'zero-cost'],
  create: async ({ redisUrl, limits }) => {
    const client = new Redis(redisUrl).on('error', () => undefined);
    const sendCommand = (command: string, ...args: string[]) => client.call(command, ...args) as Promise<RedisReply>;
    const app = express();
    for (const [i, { limit, windowMs }] of limits.entries()) {
      const store = new RedisStore({ sendCommand, prefix: `limit-${i}:` });
      app.use(rateLimit({ windowMs, limit, store, keyGenerator: ({ headers }) => String(headers['x-client']) }));
    }
    app.get('/', (_request, response) => void response.send('Hello!'));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return overHttp(server);
  },
} satisfies Adapter as Adapter;
