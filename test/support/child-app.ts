import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';

/** A plain application. Arguments: the platform, a capacity, optionally a Redis URL, and 'stdin' to close when stdin ends. */
const [platform, capacity, redis = '', closesWith] = process.argv.slice(2);

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: Number(capacity), drain: '1/h', by: 'global' })
  get(): void {}
}

@Module({ imports: [RateLimitModule.forRoot({ redis, deadline: '1s' })], controllers: [Routes] })
class AppModule {}

async function close(): Promise<void> {
  await app.close();
  console.log('closed');
}

const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
const app = await NestFactory.create(AppModule, adapter, { logger: ['error', 'fatal'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
if (closesWith === 'stdin') process.stdin.once('end', () => void close()).resume();
