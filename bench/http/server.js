// One application: node server.js <express|fastify> <variant> <redis url>, started with an IPC channel.
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { apiKeyIdentity, ipIdentity, RateLimit, RateLimitModule, userIdentity } from 'nestjs-floodgate';

const [platform, variant, redis] = process.argv.slice(2);
const HOUR_MS = 3_600_000;

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
  floodgate: () => {
    decorate(RateLimit({ algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 }));
    const identity = [apiKeyIdentity(), userIdentity(), ipIdentity()];
    return { imports: [RateLimitModule.forRoot({ redis, identity, onStoreFailure: 'closed' })] };
  },
  throttler: () => ({
    imports: [
      ThrottlerModule.forRoot({
        throttlers: [{ ttl: HOUR_MS, limit: 1_000_000_000 }],
        storage: new ThrottlerStorageRedisService(redis),
        getTracker: (request) => request.headers['x-user-id'],
      }),
    ],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }),
};

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

const root = { module: class App {}, controllers: [HelloController], ...VARIANTS[variant]() };
const adapter = platform === 'fastify' ? [new FastifyAdapter()] : [];
const app = await NestFactory.create(root, ...adapter, { logger: false });
await app.listen(0, '127.0.0.1');

process.on('message', () => process.send(process.cpuUsage()));
process.on('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process, too, but it is for the bench, whose end is the disconnection.
process.on('SIGINT', () => {});
process.send({ port: app.getHttpServer().address().port });
