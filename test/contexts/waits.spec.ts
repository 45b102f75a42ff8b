import { connect } from 'node:net';
import { Controller } from '@nestjs/common';
import { Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { codes, DRIVERS, startGraphql } from './support/graphql-app.js';
import { MessageApp } from './support/message-app.js';

jest.setTimeout(20_000); // Fastify closes with the connection that fetch keeps for 4 s

const HOST = '127.0.0.1';
/** One slot each 300 ms. */
const QUEUE: Policy = { name: 'queue', scope: 'app', algorithm: 'leaky-bucket', capacity: 2, drain: '200/m' };
/** One slot each 10 s: who waits here does so until the end of a test. */
const SLOW: Policy = { ...QUEUE, name: 'slow', drain: '6/m' };
const CLIENT = { kind: 'ip', value: HOST };

@Resolver()
class Resolvers {
  @Query(() => Int)
  @RateLimit('queue')
  one(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit('queue')
  two(): number {
    return 2;
  }

  @Mutation(() => Int)
  @RateLimit('slow')
  act(): number {
    return 3;
  }
}

@Controller()
class Messages {
  @MessagePattern('act')
  @RateLimit('queue')
  act(): string {
    return 'acted';
  }

  @MessagePattern('act slowly')
  @RateLimit('slow')
  slow(): string {
    return 'acted slowly';
  }
}

const imports = (options: RateLimitModuleOptions = {}) => [
  RateLimitModule.forRoot({ policies: { queue: QUEUE, slow: SLOW }, ...options }),
];

/** Waits until a condition holds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe.each(DRIVERS)('a queue with %s', (driver) => {
  it('delays an operation once, and rejects what does not fit', async () => {
    await using app = await startGraphql(driver, { imports: imports(), providers: [Resolvers] });
    const query = '{ one two more: one }';
    const since = performance.now();
    expect((await app.ask(query)).data).toEqual({ one: 1, two: 2, more: 1 });
    const replies = await Promise.all(Array.from({ length: 8 }, () => app.ask(query)));
    const passed = replies.filter(({ data }) => data?.['two'] === 2).length;
    expect(passed).toBeGreaterThanOrEqual(2);
    expect(performance.now() - since).toBeGreaterThanOrEqual(passed * 300);
    expect(replies.flatMap(codes)).toContain('RATE_LIMITED');
  });

  it('frees the slot of a client that goes', async () => {
    await using app = await startGraphql(driver, { imports: imports(), providers: [Resolvers] });
    const limiter = app.http.app.get(RateLimiter);
    await app.ask('mutation { act }');
    const leaving = new AbortController();
    const gone = fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"mutation { act }"}',
      signal: leaving.signal,
    });
    await until(() => limiter.stats().waiting === 1);
    leaving.abort();
    await expect(gone).rejects.toThrow('abort');
    await until(() => limiter.stats().waiting === 0);
    await until(async () => (await limiter.peek('slow', CLIENT)).delayMs <= 10_000);
  });
});

describe('a queue of messages', () => {
  it('delays a message', async () => {
    await using app = await MessageApp.start({ imports: imports(), controllers: [Messages] });
    const since = performance.now();
    await app.client.send('act');
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => app.client.send('act')));
    const passed = outcomes.filter((outcome) => 'answer' in outcome).length;
    expect(passed).toBeGreaterThanOrEqual(2);
    expect(performance.now() - since).toBeGreaterThanOrEqual(passed * 300);
    expect(outcomes).toContainEqual({ error: expect.objectContaining({ statusCode: 429, policy: 'queue' }) });
  });

  it('frees the slot of a client that goes', async () => {
    await using app = await MessageApp.start({ imports: imports(), controllers: [Messages] });
    const limiter = app.app.get(RateLimiter);
    await app.client.send('act slowly');
    const socket = connect(app.port, HOST);
    const packet = JSON.stringify({ pattern: 'act slowly', data: {}, id: '1' });
    socket.write(`${packet.length}#${packet}`);
    await until(() => limiter.stats().waiting === 1);
    const { delayMs } = await limiter.peek('slow', CLIENT);
    socket.destroy();
    await until(() => limiter.stats().waiting === 0);
    await until(async () => (await limiter.peek('slow', CLIENT)).delayMs <= 10_000);
    expect(delayMs).toBeGreaterThan(10_000);
  });
});
