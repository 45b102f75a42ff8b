import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';

/** An application that only calls `close()` when its stdin ends. Arguments: the platform, a Redis URL. */
const [platform, redis = ''] = process.argv.slice(2);

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h', by: 'global' })
  get(): void {}
}

@Module({ imports: [RateLimitModule.forRoot({ redis })], controllers: [Routes] })
class AppModule {}

async function close(): Promise<void> {
  const since = performance.now();
  await app.close();
  console.log(`closed in ${Math.ceil(performance.now() - since)} ms`);
}

const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
const app = await NestFactory.create(AppModule, adapter, { logger: ['error', 'fatal'] });
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
process.stdin.once('end', () => void close()).resume();
