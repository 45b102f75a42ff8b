import { createLimiter } from 'floodgate';
import { rateLimit } from 'floodgate/hono';
import { ipIdentity, type RateLimitRequest } from 'floodgate/http';
import { Hono } from 'hono';

const limiter = await createLimiter({ deadline: '200ms' });
await limiter.start();

const BUCKET = { algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const;
const identity = [ipIdentity({ header: 'CF-Connecting-IP' })];
const app = new Hono();
app.use('/all', rateLimit(limiter, { name: 'all', ...BUCKET }, { identity, allowList: ['10.0.0.0/8'] }));
app.use(
  '/failures',
  rateLimit(limiter, { name: 'failures', ...BUCKET, countIf: ({ status }) => status === 401 }, { identity }),
);
const cost = ({ headers }: RateLimitRequest): Promise<number> | number =>
  headers['x-hangs'] ? new Promise(() => {}) : 1;
app.use('/hangs', rateLimit(limiter, { name: 'hangs', ...BUCKET, cost }, { identity }));

app.get('/refused', async (context) => {
  const policies = { busy: { algorithm: 'concurrency', limit: 1, lease: '1m' } } as const;
  const refused = await createLimiter({ policies }).then(
    () => 'nothing',
    (error: Error) => error.message,
  );
  return context.text(refused);
});
app.all('*', (context) => context.text('Hello!', Number(context.req.query('status') ?? 200) as 200));
export default app;
