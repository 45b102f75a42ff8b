import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Identity,
  type Lease,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type Reservation,
} from 'nestjs-floodgate';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';

const LIMIT_MS = 20_000;
/** So long that Redis decides in time on a busy machine, but for answers that the proxy delays. */
const DEADLINE_MS = 400;
/** In each direction. */
const DELAY_MS = 250;
const LEASE_MS = 2_000;
const ADA = { kind: 'user', value: 'ada' } as const;
const NAMES = ['places', 'brief', 'budget', 'tokens', 'queue', 'line'] as const;
/** More than a batch has, and more than one turn asks for. */
const IN_LINE = 150;
const POLICIES: RateLimitModuleOptions['policies'] = {
  places: { algorithm: 'concurrency', limit: 5, lease: '10m' },
  brief: { algorithm: 'concurrency', limit: 5, lease: LEASE_MS },
  budget: { algorithm: 'fixed-window', limit: 10_000, window: '300d' },
  tokens: { algorithm: 'token-bucket', capacity: 100, refill: '1/d' },
  queue: { algorithm: 'leaky-bucket', capacity: 20, drain: '1/h' },
  line: { algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h' },
  last: { algorithm: 'concurrency', limit: 1, lease: '10m', else: 'places' },
  spent: { algorithm: 'fixed-window', limit: 1, window: '300d', else: 'budget' },
};

let server: RedisServer;
let proxy: TcpProxy;
const apps: INestApplicationContext[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
});
beforeEach(async () => {
  proxy = await TcpProxy.start(server.port);
});
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
  await proxy.stop();
  await server.stop();
  await server.restart();
});
afterAll(async () => {
  await server.stop();
});

async function open(redis: string, more: RateLimitModuleOptions): Promise<RateLimiter> {
  const app = await NestFactory.createApplicationContext(
    RateLimitModule.forRoot({ policies: POLICIES, redis, ...more }),
    { logger: false, abortOnError: false },
  );
  apps.push(app);
  return app.get(RateLimiter);
}

/** Asks in a later turn of the event loop. */
async function asTurn<T>(turn: number, ask: () => Promise<T>): Promise<T> {
  for (let i = 0; i < turn; i++) await nextTurn();
  return ask();
}

interface Pod {
  /** Behind the proxy. */
  readonly limiter: RateLimiter;
  /** Resolves when Redis has answered all that the limiter asked before. */
  readonly answered: () => Promise<unknown>;
  /** What Redis has left for Ada by each policy. */
  readonly left: () => Promise<Record<string, number>>;
}

async function pod(options: RateLimitModuleOptions): Promise<Pod> {
  const limiter = await open(proxy.url, options);
  const observer = await open(server.url, { deadline: '10s' });
  const decides = async (): Promise<boolean> => (await limiter.peek('budget', ADA)).decidedBy === 'store';
  const answered = (): Promise<unknown> => until('the store decides', LIMIT_MS, decides);
  await answered();
  const leftOf = async (name: string): Promise<[string, number]> => [
    name,
    (await observer.peek(name, ADA)).policies[0]!.remaining,
  ];
  return { limiter, answered, left: async () => Object.fromEntries(await Promise.all(NAMES.map(leftOf))) };
}

describe.each(['local', 'open', 'closed'] as const)("with '%s'", (onStoreFailure) => {
  it('what a request would hold is given back that is allowed after its deadline', async () => {
    const { limiter, left } = await pod({ deadline: DEADLINE_MS, onStoreFailure });
    const whole = await left();
    expect(whole).toMatchObject({ places: 5, budget: 10_000, tokens: 100 });
    const wanted = { ...whole, tokens: 96 }; // plain charges stay: their requests may have passed
    proxy.delay(DELAY_MS);
    const scheduled = [1, 2].map(async (n) => limiter.schedule('places', ADA, () => n)); // may wait for the store
    const asked = await Promise.allSettled([
      ...Array.from({ length: 3 }, async () => limiter.acquire('places', ADA)),
      ...Array.from({ length: 4 }, async () => limiter.reserve('budget', ADA, { cost: 2_000 })),
      ...Array.from({ length: 4 }, async () => limiter.consume('tokens', ADA)),
      ...Array.from({ length: 4 }, async () => limiter.consume('queue', ADA)),
      ...Array.from({ length: IN_LINE }, async (_, i) => asTurn(i % 3, () => limiter.consume('line', ADA))),
    ]);
    expect(asked).toHaveLength(15 + IN_LINE);
    await proxy.pass();
    expect(await Promise.all(scheduled)).toEqual([1, 2]);
    const isBack = async (): Promise<boolean> => JSON.stringify(await left()) === JSON.stringify(wanted);
    await until('all is given back', LIMIT_MS, isBack).catch(() => undefined);
    expect(await left()).toEqual(wanted);
  });
});

it('what the second question of a request with else was granted too late is given back', async () => {
  const { limiter, answered, left } = await pod({ deadline: DEADLINE_MS, onStoreFailure: 'closed' });
  const take = async (identity: Identity): Promise<PromiseSettledResult<Lease | Reservation>[]> =>
    Promise.allSettled([
      ...Array.from({ length: 3 }, async () => limiter.acquire('last', identity)),
      ...Array.from({ length: 3 }, async () => limiter.reserve('spent', identity, { cost: 1 })),
    ]);
  await take({ kind: 'user', value: 'bob' }); // Redis knows the programs
  await limiter.acquire('last', ADA);
  await limiter.consume('spent', ADA);
  const whole = await left();
  proxy.delay(DEADLINE_MS / 3); // in each direction: two questions take a third longer than the deadline
  const asked = await take(ADA);
  await proxy.pass();
  await answered(); // before, nothing may be taken yet
  for (const one of asked) {
    if (one.status === 'fulfilled') await ('release' in one.value ? one.value.release() : one.value.cancel());
  }
  const isBack = async (): Promise<boolean> => JSON.stringify(await left()) === JSON.stringify(whole);
  await until('all is given back', LIMIT_MS, isBack).catch(() => undefined);
  expect(await left()).toEqual(whole);
});

it.each(['leave', 'are cancelled'])(
  'the slots of calls that %s come back, though the answers to that are late',
  async (how) => {
    const { limiter, left } = await pod({ deadline: DEADLINE_MS });
    const clients = new AbortController();
    const options = { estimate: 1, cost: () => 1, signal: clients.signal, maxWait: Infinity };
    await limiter.consume('line', ADA); // the next ones wait
    const rest = await left();
    const ends: (() => unknown)[] = [() => clients.abort()];
    for (let i = 0; i < 10; i++) {
      if (how === 'leave') limiter.schedule(['line', 'budget'], ADA, () => undefined, options).catch(() => undefined);
      else {
        const reservation = await limiter.reserve(['line', 'budget'], ADA);
        ends.push(() => reservation.cancel());
      }
    }
    const taken = { ...rest, line: rest['line']! - 10, budget: 9_990 };
    await until('all of them wait', LIMIT_MS, async () => JSON.stringify(await left()) === JSON.stringify(taken));
    proxy.delay(DELAY_MS);
    await Promise.all(ends.map(async (end) => end()));
    await delay(3 * DELAY_MS);
    await proxy.pass();
    const isBack = async (): Promise<boolean> => JSON.stringify(await left()) === JSON.stringify(rest);
    await until('all is given back', LIMIT_MS, isBack).catch(() => undefined);
    expect(await left()).toEqual(rest);
  },
);

it('a renewal that is answered after the deadline has moved its lease, and takes no other one', async () => {
  const { limiter, left } = await pod({ deadline: DEADLINE_MS });
  const held = await limiter.acquire('brief', ADA);
  expect(held.decision).toMatchObject({ allowed: true, decidedBy: 'store' });
  proxy.delay(DELAY_MS);
  for (const end = performance.now() + 2 * LEASE_MS; performance.now() < end; await delay(20)) {
    expect(await left()).toMatchObject({ brief: 4 });
  }
  await proxy.pass();
  held.release();
  await until('it is free', LIMIT_MS, async () => (await left())['brief'] === 5);
});

it('a place whose answer is lost is free after some seconds, and one that is held stays taken', async () => {
  const { limiter, left } = await pod({ deadline: DEADLINE_MS });
  const held = await limiter.acquire('places', ADA);
  expect(held.decision.decidedBy).toBe('store');
  proxy.dropReplies();
  await Promise.allSettled(Array.from({ length: 4 }, async () => limiter.acquire('places', ADA)));
  await proxy.pass();
  await until('they are free', LIMIT_MS, async () => (await left())['places'] === 4);
  for (const end = performance.now() + 6_000; performance.now() < end; await delay(50)) {
    expect(await left()).toMatchObject({ places: 4 });
  }
  held.release();
  await until('it is free', LIMIT_MS, async () => (await left())['places'] === 5);
});
