import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Application, ENGINE } from './support/packed.js';

let application: Application;

beforeAll(() => {
  application = new Application(['hono'], ENGINE);
});
afterAll(() => application.delete());

/**
 * What a Worker of Cloudflare has not: timers while modules are loaded, timers that outlast their request, clocks that run while modules
 * are loaded, and, in older ones, `FinalizationRegistry` and V8's heap limit. `npm run test:consumers -- --only engine-workers` asks
 * workerd itself.
 */
const LIKE_A_WORKER = `
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';

let armed; // undefined: no request is under way
const { now } = Date;
Date.now = () => (armed === undefined ? 0 : now());
performance.now = Date.now;
Object.defineProperty(performance, 'timeOrigin', { value: 0 });
Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Cloudflare-Workers' } });
new Response(); // Node's own needs what goes now
Reflect.deleteProperty(globalThis, 'FinalizationRegistry');
process.getBuiltinModule = undefined;
for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
  const [arm, disarm] = [timers[name], timers[name.replace('set', 'clear')]];
  timers[name] = globalThis[name] = (...given) => {
    if (armed === undefined) throw new Error('Disallowed operation called within global scope');
    const timer = arm(...given);
    armed.push(() => disarm(timer));
    return name === 'setInterval' ? Number(timer) : timer;
  };
}
syncBuiltinESMExports();

/** Serves a request, and ends its timers. */
export async function serve(app, path) {
  armed = [];
  const { status } = await app.request(path, { headers: { 'CF-Connecting-IP': '203.0.113.7' } });
  for (const disarm of armed) disarm();
  armed = undefined;
  return status;
}
`;

const WORKER = `
import { serve } from './like-a-worker.mjs';
const { createLimiter } = await import('floodgate');
const { ipIdentity } = await import('floodgate/http');
const { rateLimit } = await import('floodgate/hono');
const { Hono } = await import('hono');

const BUCKET = { algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const WINDOW = { algorithm: 'fixed-window', window: '1h' };
const told = [];
const note = (message) => told.push(message);
const limiter = await createLimiter({
  deadline: '50ms',
  logger: { log: note, warn: note, error: note },
  onThreshold: ({ policy }) => note('threshold of ' + policy),
});
await limiter.start();
const early = { name: 'early', ...WINDOW, limit: 1, by: 'global' };
const whileLoading = [await limiter.consume(early), await limiter.consume(early)].map(({ allowed }) => allowed);

const app = new Hono();
const limit = (name, policy) =>
  app.use('/' + name, rateLimit(limiter, { name, ...policy }, { identity: [ipIdentity({ header: 'CF-Connecting-IP' })] }));
limit('all', BUCKET);
limit('failures', { ...WINDOW, limit: 2, countIf: ({ status }) => status === 401 });
limit('levels', { ...WINDOW, limit: 1, thresholds: [1] });
limit('asks', { ...WINDOW, limit: 9, cost: async ({ url }) => (url.includes('?hang') ? new Promise(() => {}) : 1) });
app.all('*', (context) => context.text('', Number(context.req.query('status') ?? 200)));

const statuses = {};
for (const path of [
  ...['/all', '/all', '/all', '/all'],
  ...['/failures', '/failures', '/failures', '/failures?status=401', '/failures?status=401', '/failures'],
  ...['/levels', '/asks', '/asks?hang'],
]) (statuses[path.slice(1)] ??= []).push(await serve(app, path));

const refused = {};
for (const [name, options] of Object.entries({
  redis: { redis: 'redis://127.0.0.1:1' },
  policy: { policies: { busy: { algorithm: 'concurrency', limit: 1, lease: '1m' } } },
  expires: { policies: { costly: { ...BUCKET, settle: () => 1, expires: '1m' } } },
})) {
  refused[name] = await createLimiter(options).then(() => 'nothing', ({ message }) => message.replace(/ \\(see .*/, ''));
}
console.log(JSON.stringify({ whileLoading, statuses, told, refused }));
`;

it('decides in a Worker of Cloudflare, from a limiter that its module makes', async () => {
  application.write('like-a-worker.mjs', LIKE_A_WORKER);
  const printed = await application.run(application.write('worker.mjs', WORKER));
  expect(printed).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(printed)).toEqual({
    whileLoading: [true, false],
    statuses: {
      all: [200, 200, 200, 429],
      failures: [200, 200, 200, 429],
      'failures?status=401': [401, 401],
      levels: [200],
      asks: [200],
      'asks?hang': [200],
    },
    told: [
      'Each isolate counts for itself',
      'threshold of levels',
      expect.stringContaining("cost of policy 'asks' failed, the request costs 1: it did not settle within 50 ms"),
    ],
    refused: {
      redis: expect.stringContaining('createLimiter: redis is not for Cloudflare Workers'),
      policy: expect.stringContaining('policies.busy: a concurrency is not for Cloudflare Workers'),
      expires: expect.stringContaining('policies.costly: expires is not for Cloudflare Workers'),
    },
  });
});
