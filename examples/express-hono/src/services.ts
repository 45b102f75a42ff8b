import express, { type Express } from 'express';
import type { RateLimiter } from 'floodgate';
import { rateLimit as limitExpress } from 'floodgate/express';
import { rateLimit as limitHono } from 'floodgate/hono';
import { Hono } from 'hono';

/** A burst of 20 from one address, then 100 an hour. Services share it that name it so, with the same numbers. */
const SEARCH = { name: 'search', algorithm: 'token-bucket', capacity: 20, refill: '100/h' } as const;

export function expressService(limiter: RateLimiter): Express {
  const app = express();
  // Behind one proxy of yours, the client's address is in X-Forwarded-For: app.set('trust proxy', 1);
  app.use(limitExpress(limiter, SEARCH));
  app.get('/search', (_request, response) => void response.json(['a result of Express']));
  return app;
}

export function honoService(limiter: RateLimiter): Hono {
  const app = new Hono();
  // Behind one proxy of yours: limitHono(limiter, SEARCH, { trustProxy: 1 })
  app.use(limitHono(limiter, SEARCH));
  app.get('/search', (context) => context.json(['a result of Hono']));
  return app;
}
