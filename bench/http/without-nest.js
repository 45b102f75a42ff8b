// One server without Nest: node without-nest.js <express|fastify|hono> <none|floodgate|peer> <redis url> <key prefix> [limit],
// started with an IPC channel. It limits the user in X-User-Id. Peers are set up as their documentation says, with their own headers.
import './same-start.js';
import { Redis } from 'ioredis';

const [platform, variant, redis, keyPrefix, given] = process.argv.slice(2);
const LIMIT = Number(given || 1_000_000_000);
const HOUR_MS = 3_600_000;
const HELLO = { hello: 'world' };
const HOST = '127.0.0.1';
const isLimited = variant !== 'none';

/** What each adapter takes: a limiter on Redis, its policy, and who is counted. */
async function floodgate() {
  const { createLimiter } = await import('floodgate');
  const { userIdentity } = await import('floodgate/http');
  const limiter = await createLimiter({ redis, keyPrefix, onStoreFailure: 'closed' });
  await limiter.start();
  const policy = { name: 'all', by: 'user', algorithm: 'fixed-window', limit: LIMIT, window: '1h' };
  return { limiter, policy, options: { identity: [userIdentity()] } };
}

async function openExpress() {
  const { default: express } = await import('express');
  const app = express();
  if (isLimited) app.use(await (variant === 'floodgate' ? ours() : peer()));
  app.get('/hello', (_request, response) => response.json(HELLO));
  return new Promise((resolve) => {
    const server = app.listen(0, HOST, () => resolve(server));
  });

  async function ours() {
    const { rateLimit } = await import('floodgate/express');
    const { limiter, policy, options } = await floodgate();
    return rateLimit(limiter, policy, options);
  }

  async function peer() {
    const { rateLimit } = await import('express-rate-limit');
    const { RedisStore } = await import('rate-limit-redis');
    const connection = new Redis(redis);
    return rateLimit({
      windowMs: HOUR_MS,
      limit: LIMIT,
      keyGenerator: ({ headers }) => headers['x-user-id'],
      store: new RedisStore({
        prefix: keyPrefix,
        sendCommand: (command, ...args) => connection.call(command, ...args),
      }),
    });
  }
}

async function openFastify() {
  const { fastify } = await import('fastify');
  const app = fastify();
  if (isLimited) await (variant === 'floodgate' ? ours() : peer());
  app.get('/hello', (_request, reply) => reply.send(HELLO));
  await app.listen({ port: 0, host: HOST });
  return app.server;

  async function ours() {
    const { rateLimit } = await import('floodgate/fastify');
    const { limiter, policy, options } = await floodgate();
    await app.register(rateLimit, { limiter, policies: policy, ...options });
  }

  async function peer() {
    const { default: rateLimit } = await import('@fastify/rate-limit');
    await app.register(rateLimit, {
      max: LIMIT,
      timeWindow: HOUR_MS,
      nameSpace: keyPrefix,
      keyGenerator: ({ headers }) => headers['x-user-id'],
      redis: new Redis(redis, { connectTimeout: 500, maxRetriesPerRequest: 1 }),
    });
  }
}

async function openHono() {
  const { Hono } = await import('hono');
  const { serve } = await import('@hono/node-server');
  const app = new Hono();
  if (isLimited) app.use(await (variant === 'floodgate' ? ours() : peer()));
  app.get('/hello', (context) => context.json(HELLO));
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: HOST }, () => resolve(server));
  });

  async function ours() {
    const { rateLimit } = await import('floodgate/hono');
    const { limiter, policy, options } = await floodgate();
    return rateLimit(limiter, policy, options);
  }

  async function peer() {
    const { rateLimiter, RedisStore } = await import('hono-rate-limiter');
    const connection = new Redis(redis);
    return rateLimiter({
      windowMs: HOUR_MS,
      limit: LIMIT,
      keyGenerator: (context) => context.req.header('x-user-id'),
      store: new RedisStore({
        prefix: keyPrefix,
        // Its interface is that of @upstash/redis.
        client: {
          scriptLoad: (script) => connection.script('LOAD', script),
          evalsha: (sha, keys, args) => connection.evalsha(sha, keys.length, ...keys, ...args),
          decr: (key) => connection.decr(key),
          del: (key) => connection.del(key),
        },
      }),
    });
  }
}

const server = await { express: openExpress, fastify: openFastify, hono: openHono }[platform]();
// While the others warm up, its connections are idle for longer than Node's 5 s.
server.keepAliveTimeout = 0;

process.on('message', () => process.send(process.cpuUsage()));
process.on('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process, too, but it is for the bench, whose end is the disconnection.
process.on('SIGINT', () => {});
process.send({ port: server.address().port });
