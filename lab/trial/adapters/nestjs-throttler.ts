import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { Redis } from 'ioredis';
import type { Adapter } from '../adapter.js';
import { overHttp } from '../over-http.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

export default {
  name: '@nestjs/throttler',
  packages: ['@nestjs/throttler', '@nest-lab/throttler-storage-redis', '@nestjs/core', 'ioredis'],
  definition: 'window',
  note: 'With its default blockDuration, the ttl.',
  retryAfterUnitMs: 1_000,
  offers: {
    limit: 'README: Throttler ensures that users can only make `limit` requests per `ttl` to each endpoint.',
  },
  lacks: ['cost', 'huge-cost', 'zero-cost'],
  create: async ({ redisUrl, limits }) => {
    const throttlers = limits.map(({ limit, windowMs: ttl }, i) => ({
      name: i === 0 ? 'default' : `${i}`,
      limit,
      ttl,
    }));
    const storage = new ThrottlerStorageRedisService(new Redis(redisUrl).on('error', () => undefined));
    const getTracker = ({ headers }: Record<string, { [name: string]: string }>) => headers!['x-client']!;
    const imports = [ThrottlerModule.forRoot({ throttlers, storage, getTracker })];
    const providers = [{ provide: APP_GUARD, useClass: ThrottlerGuard }];
    const app = await NestFactory.create(
      { module: class App {}, imports, providers, controllers: [Routes] },
      { logger: false },
    );
    return overHttp(await app.listen(0, '127.0.0.1'));
  },
} satisfies Adapter as Adapter;
