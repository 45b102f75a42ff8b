import { fastify } from 'fastify';
import { createLimiter } from 'floodgate';
import { rateLimit } from 'floodgate/fastify';

async function main() {
  const limiter = await createLimiter({
    policies: { burst: { algorithm: 'token-bucket', capacity: 20, refill: '1/h' } },
  });
  await limiter.start();
  const app = fastify();
  await app.register(rateLimit, { limiter, policies: 'burst', hook: 'preHandler' });
  app.get('/burst', () => ({ served: true }));
  console.log(`listening ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
}

void main();
