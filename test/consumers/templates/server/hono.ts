import { serve } from '@hono/node-server';
import { createLimiter } from 'floodgate';
import { rateLimit } from 'floodgate/hono';
import { Hono } from 'hono';

async function main() {
  const limiter = await createLimiter();
  await limiter.start();
  const app = new Hono();
  app.use(rateLimit(limiter, { name: 'burst', algorithm: 'token-bucket', capacity: 20, refill: '1/h' }));
  app.get('/burst', (context) => context.json({ served: true }));
  serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
    console.log(`listening http://127.0.0.1:${port}`);
  });
}

void main();
