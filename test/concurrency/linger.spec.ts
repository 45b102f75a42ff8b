import { setImmediate as nextTurn } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type Decision, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const LINGER_MS = 5;
const DAY: Policy = { name: 'day', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ADA = { kind: 'user', value: 'ada' };

const redis = useRedis();
let app: INestApplicationContext;
let limiter: RateLimiter;

beforeEach(async () => {
  const module = RateLimitModule.forRoot({
    redis: redis.server.url,
    linger: LINGER_MS,
    deadline: '10s',
    denialCache: 0,
    onStoreFailure: 'closed',
  });
  app = await NestFactory.createApplicationContext(module, { logger: false });
  limiter = app.get(RateLimiter);
  await until('Redis decides', 20_000, () => limiter.consume(DAY, { kind: 'user', value: 'first' }).catch(() => false));
});

afterEach(() => app.close());

/** Asks once in each of so many turns of the event loop, and awaits no answer meanwhile. */
async function inTurns(count: number, ask: (i: number) => Promise<Decision>): Promise<Decision[]> {
  const answers: Promise<Decision>[] = [];
  for (let i = 0; i < count; i++) {
    answers.push(ask(i));
    await nextTurn();
  }
  return Promise.all(answers);
}

async function batchesDuring(work: () => Promise<unknown>): Promise<number> {
  const { count } = limiter.stats().batchSizes;
  await work();
  return limiter.stats().batchSizes.count - count;
}

const user = (i: number): { kind: string; value: string } => ({ kind: 'user', value: `user-${i}` });

/** Makes the process look busy: as many requests, but for the cost of a peek. */
const warmUp = (): Promise<unknown> => inTurns(400, (i) => limiter.peek(DAY, user(i)));

it('lets requests of several turns share calls, and decides them exactly', async () => {
  await warmUp();
  let decisions: Decision[] = [];
  const batches = await batchesDuring(async () => (decisions = await inTurns(300, () => limiter.consume(DAY, ADA))));
  expect(decisions.map(({ allowed }) => allowed)).toEqual(decisions.map((_, i) => i < DAY.limit));
  expect(new Set(decisions.map(({ decidedBy }) => decidedBy))).toEqual(new Set(['store']));
  expect(batches).toBeLessThan(decisions.length); // without it, each turn has a call of its own
});

it('sends what waits before a reset', async () => {
  await warmUp();
  const waiting = limiter.consume(DAY, ADA);
  await limiter.reset(DAY, ADA);
  expect((await waiting).allowed).toBe(true);
  expect((await limiter.peek(DAY, ADA)).policies[0]!.remaining).toBe(DAY.limit);
});

it('sends what waits before the connection closes', async () => {
  await warmUp();
  const waiting = limiter.consume(DAY, ADA);
  await app.close();
  expect(await waiting).toMatchObject({ allowed: true, decidedBy: 'store' });
});
