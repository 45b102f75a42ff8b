// One application: node server.js <express|fastify> <variant> <redis url> <key prefix> [limit], started with an IPC channel.
import './same-start.js';
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { Redis } from 'ioredis';
import { apiKeyIdentity, ipIdentity, RateLimit, RateLimiter, RateLimitModule, userIdentity } from 'nestjs-floodgate';

const [platform, variant, redis, keyPrefix, given] = process.argv.slice(2);
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const PEER_LIMIT = 1_000_000_000;
const BUCKET = { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 };
/** Its tokens do not come back within the bench. */
const SLOW = { ...BUCKET, refill: '100/h' };
const PLANS = { pro: { capacity: 2_000_000 } };
let outcomes = 0;

class HelloController {
  hello() {
    return { hello: 'world' };
  }
}
// Node 20 has no decorators: these are the same functions, called by hand.
const descriptor = Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello');
const decorate = (decorator) => decorator(HelloController.prototype, 'hello', descriptor);
Controller()(HelloController);
decorate(Get('hello'));

const VARIANTS = {
  none: () => ({}),
  empty: () => ({ providers: [{ provide: APP_GUARD, useValue: { canActivate: () => true } }] }),
  headers: () => ({ providers: [{ provide: APP_GUARD, inject: [HttpAdapterHost], useFactory: headersGuard }] }),
  asking: () => ({ providers: [{ provide: APP_GUARD, inject: [HttpAdapterHost], useFactory: askingGuard }] }),
  floodgate: () => limited(BUCKET),
  shedding: () =>
    limited(
      { ...BUCKET, name: 'first' },
      // All requests could be shed. The load keeps the event loop busy, but never for so long.
      { shed: { classes: ['background'], priority: 'background', eventLoopDelay: '10s' } },
    ),
  pro: () => limited({ ...BUCKET, name: 'first', plans: PLANS }, { plan: { resolve: () => 'pro', cacheFor: '24h' } }),
  slow: () => limited(SLOW),
  counted: () => limited({ ...SLOW, countIf: says(true) }),
  refunded: () => limited({ ...SLOW, countIf: says(false) }),
  // Few entries, as in scenarios/features/concurrency.js.
  log: () => limited({ algorithm: 'sliding-window-log', limit: 1_000, window: '300ms' }),
  // Without its releases nobody would pass for long.
  concurrency: () => limited({ algorithm: 'concurrency', limit: 3, lease: '1m' }),
  first: () => limited({ ...BUCKET, name: 'first' }),
  firstAndOther: () =>
    limited([
      { ...BUCKET, name: 'first' },
      { ...BUCKET, name: 'other' },
    ]),
  blocking: () => limited({ ...BUCKET, name: 'first', capacity: Number(given || BUCKET.capacity), blockFor: '10m' }),
  throttler: () => throttled({ ttl: HOUR_MS, limit: PEER_LIMIT }),
  throttlers: () =>
    throttled(
      { name: 'one', ttl: HOUR_MS, limit: PEER_LIMIT },
      { name: 'two', ttl: 2 * HOUR_MS, limit: PEER_LIMIT / 2 },
    ),
  throttlerBlocking: () =>
    throttled({ ttl: given ? SECOND_MS : HOUR_MS, limit: Number(given || PEER_LIMIT), blockDuration: HOUR_MS / 6 }),
};

function throttled(...throttlers) {
  return {
    imports: [
      ThrottlerModule.forRoot({
        throttlers,
        storage: new ThrottlerStorageRedisService(redis),
        getTracker: (request) => request.headers['x-user-id'],
      }),
    ],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

function limited(policies, options = {}) {
  decorate(RateLimit(...[policies].flat()));
  const identity = [apiKeyIdentity(), userIdentity(), ipIdentity()];
  return { imports: [RateLimitModule.forRoot({ redis, keyPrefix, identity, onStoreFailure: 'closed', ...options })] };
}

/** A `countIf` that counts its calls. */
function says(answer) {
  return () => {
    outcomes++;
    return answer;
  };
}

/** Nest's own floor for a guard that says something: three headers that differ from request to request. */
function headersGuard({ httpAdapter }) {
  let count = 0;
  return {
    canActivate(context) {
      const response = context.switchToHttp().getResponse();
      httpAdapter.setHeader(response, 'X-RateLimit-Limit', '1000000');
      httpAdapter.setHeader(response, 'X-RateLimit-Remaining', String(1_000_000 - (++count % 1_000_000)));
      httpAdapter.setHeader(response, 'X-RateLimit-Reset', String(Math.ceil(Date.now() / 1000)));
      return true;
    },
  };
}

/** The floor for a guard on Redis: one PING for all requests of an event-loop turn, and the three headers. */
function askingGuard(host) {
  const client = new Redis(redis);
  const headers = headersGuard(host);
  let answer;
  const ask = () =>
    new Promise((resolve, reject) => {
      setImmediate(() => {
        answer = undefined;
        client.ping().then(resolve, reject);
      });
    });
  return { canActivate: (context) => (answer ??= ask()).then(() => headers.canActivate(context)) };
}

const root = { module: class App {}, controllers: [HelloController], ...VARIANTS[variant]() };
const adapter = platform === 'fastify' ? [new FastifyAdapter()] : [];
const app = await NestFactory.create(root, ...adapter, { logger: false });
await app.listen(0, '127.0.0.1');
// While the others warm up, its connections are idle for longer than Node's 5 s.
app.getHttpServer().keepAliveTimeout = 0;

const ANSWERS = {
  cpu: () => process.cpuUsage(),
  stats: () => {
    const { plans, policies } = app.get(RateLimiter).stats();
    return { outcomes, plans, policies };
  },
};
process.on('message', (question) => process.send(ANSWERS[question]()));
process.on('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process, too, but it is for the bench, whose end is the disconnection.
process.on('SIGINT', () => {});
process.send({ port: app.getHttpServer().address().port });
