import { serve } from '@hono/node-server';
import { createLimiter, type RateLimiter } from 'floodgate';
import { expressService, honoService } from './services.js';

/** With REDIS_URL both services share the limit. Without it, each counts for itself. */
async function openLimiter(): Promise<RateLimiter> {
  const limiter = await createLimiter({ redis: process.env.REDIS_URL });
  await limiter.start();
  return limiter;
}

// Each service has a limiter of its own, as if it were a process of its own.
expressService(await openLimiter()).listen(3000);
serve({ fetch: honoService(await openLimiter()).fetch, port: 3001 });
