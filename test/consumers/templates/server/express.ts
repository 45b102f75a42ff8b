import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createLimiter } from 'floodgate';
import { rateLimit } from 'floodgate/express';

async function main() {
  const limiter = await createLimiter();
  await limiter.start();
  const app = express();
  app.use(rateLimit(limiter, { name: 'burst', algorithm: 'token-bucket', capacity: 20, refill: '1/h' }));
  app.get('/burst', (_request, response) => void response.json({ served: true }));
  const server = createServer(app).listen(0, '127.0.0.1', () => {
    console.log(`listening http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

void main();
