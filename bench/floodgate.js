import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { LimiterUnavailableError, RateLimiter, RateLimitModule } from 'nestjs-floodgate';

/** Users' names of one length; a peer's may be padded so that its keys are as long as Floodgate's. */
export function user(i, length = 0) {
  return `rider-${String(i).padStart(7, '0')}`.padEnd(length, '-');
}

/**
 * A `RateLimiter` as an application has it, of the built library, through its public API.
 *
 * @param imports modules beside it
 * @returns {Promise<RateLimiter>} closed with the bench's scenario
 */
export async function openLimiter(bench, options, imports = []) {
  return (await openApplication(bench, options, imports)).limiter;
}

/** Opens a limiter together with its application, whose other providers a scenario may need. */
export async function openApplication(bench, options, imports = []) {
  // 'closed': a decision that the store did not make must not count as one.
  const limits = RateLimitModule.forRoot({ guard: false, onStoreFailure: 'closed', ...options });
  const app = await NestFactory.createApplicationContext(
    { module: class App {}, imports: [limits, ...imports] },
    { logger: false },
  );
  app.enableShutdownHooks([]);
  bench.onClose(() => app.close());
  return { app, limiter: app.get(RateLimiter) };
}

/** Whether the store decided, and let the request pass. */
export function passed(decision) {
  return decision.allowed === true && decision.decidedBy === 'store';
}

/** Whether the store gave no answer in time. */
export function late(answer) {
  return answer instanceof LimiterUnavailableError;
}

export function identities(keys, from = 0) {
  return Array.from({ length: keys }, (_, i) => ({ kind: 'user', value: user(from + i) }));
}

/** `keys` users, each asked for in turn, all of whom pass. */
export function distinctKeys(limiter, policies, keys, name = 'Floodgate') {
  const users = identities(keys);
  return { name, ask: (i) => limiter.consume(policies, users[i % keys]), right: passed, late };
}

/** The key under which Redis keeps a user's state: the bench knows nothing of how keys look. */
export async function redisKeyOf(bench, limiter, policy, value) {
  await bench.admin.flushall();
  await limiter.consume(policy, { kind: 'user', value });
  const [key] = await bench.admin.keys('*');
  await bench.admin.flushall();
  return key;
}
