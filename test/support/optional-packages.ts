import { Logger, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitAdminModule, RateLimiter, RateLimitMetricsModule, RateLimitModule } from 'nestjs-floodgate';

/** Boots an application with the imports that the argument names, and prints a decision or the boot error. */
const IMPORTS: Readonly<Record<string, () => ModuleMetadata['imports']>> = {
  nothing: () => [RateLimitModule.forRoot()],
  redis: () => [RateLimitModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
  redisOptions: () => [RateLimitModule.forRoot({ redis: { host: '127.0.0.1', port: 1 } })],
  admin: () => [RateLimitModule.forRoot(), RateLimitAdminModule.register({ guards: [{ canActivate: () => true }] })],
  metrics: () => [RateLimitModule.forRoot(), RateLimitMetricsModule.forRoot()],
  opentelemetry: () => [RateLimitModule.forRoot(), RateLimitMetricsModule.forRoot({ through: 'opentelemetry' })],
  spans: () => [RateLimitModule.forRoot(), RateLimitMetricsModule.forRoot({ spanAttributes: true })],
};

Logger.overrideLogger(false);
const imports = IMPORTS[process.argv[2]!]!();
try {
  const app = await NestFactory.createApplicationContext({ module: class App {}, imports }, { abortOnError: false });
  const policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: 1 } as const;
  const { allowed } = await app.get(RateLimiter).consume(policy, { kind: 'user', value: 'ada' });
  console.log(`allowed: ${allowed}`);
  await app.close();
} catch (error) {
  console.log(String(error));
}
