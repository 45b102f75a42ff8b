import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { Lookups } from '../support/faults/hanging-lookups.js';
import { Pod } from '../support/faults/pod.js';
import { useProxiedRedis } from '../support/faults/proxied-redis.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

/** Milliseconds that Floodgate may take longer than plain ioredis, and that a busy machine adds. */
const LATER_MS = 1000;
const LATE_MS = 250;
const DEADLINE_MS = 50;

const at = useProxiedRedis();

/** Milliseconds until plain ioredis has its first answer. */
async function plainMs(url: string): Promise<number> {
  const since = performance.now();
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  await redis.ping();
  const ms = performance.now() - since;
  redis.disconnect();
  return ms;
}

/** Checks that Redis decides within a second after plain ioredis could use it. */
async function expectUsedAsSoon(fault: string, url: string): Promise<void> {
  const plain = await plainMs(url);
  const since = performance.now();
  await using pod = await Pod.start({ redis: url });
  await pod.recovered(plain + LATER_MS + LATE_MS);
  expect(performance.now() - since).toBeLessThan(plain + LATER_MS);
  await pod.conclude(fault, { answers: [] });
}

describe('a Redis that plain ioredis can use decides', () => {
  it.each([260, 900])('when the lookup of its name takes %i ms', async (ms) => {
    using lookups = new Lookups(ms);
    await expectUsedAsSoon(`lookup of ${ms} ms`, `redis://redis.test:${at.server.port}`);
    expect(lookups.mostInFlight).toBe(1);
  });

  it.each([300, 900, 2500])('when the first answer on a connection takes %i ms', async (ms) => {
    at.proxy.answerLate(ms);
    await expectUsedAsSoon(`first answer after ${ms} ms`, at.proxy.url);
  });

  it('when the lookup, the connection and the first answer are all slow', async () => {
    using _ = new Lookups(400);
    at.proxy.answerLate(600);
    await expectUsedAsSoon('all slow', `redis://redis.test:${at.proxy.port}`);
  });

  it('when the network loses the first connections', async () => {
    at.proxy.blackHole();
    await using pod = await Pod.start({ redis: at.proxy.url });
    const { accepted } = at.proxy;
    expect(accepted).toBeGreaterThan(1);
    await delay(2500);
    // One connection a second, not one for each timer that is due.
    expect(at.proxy.accepted - accepted).toBeLessThanOrEqual(4);
    expect(at.proxy.open).toBeLessThanOrEqual(2);
    await at.proxy.pass();
    const recoveryMs = await pod.recovered();
    expect(at.proxy.open).toBe(1);
    await pod.conclude('black hole from the start', { answers: [], recoveryMs });
  });
});

it('a connection that was made while Redis hung is replaced as soon as any other one when it falls silent', async () => {
  at.server.pause();
  await using pod = await Pod.start({ redis: at.proxy.url });
  await delay(1700);
  at.server.resume();
  await pod.recovered();
  at.proxy.blackHole();
  const answers = await arrivals(pod, 1, 1000);
  await at.proxy.pass();
  const recoveryMs = await pod.recovered();
  await pod.conclude('black hole, on a connection made while Redis hung', { answers: timesOf(answers), recoveryMs });
});

it('Redis decides again after a reconnection with slow lookups', async () => {
  using _ = new Lookups(300);
  await using pod = await Pod.start({ redis: `redis://redis.test:${at.proxy.port}` });
  await pod.recovered();
  at.proxy.reset();
  expect((await pod.ask()).decidedBy).toBe('local');
  await at.proxy.pass();
  const recoveryMs = await pod.recovered();
  await pod.conclude('reset, lookup of 300 ms', { answers: [], recoveryMs });
});

it('while lookups hang, one is under way and files are read; Redis decides when the lookups return', async () => {
  using lookups = new Lookups();
  await using pod = await Pod.start({ redis: `redis://redis.test:${at.proxy.port}` });
  await pod.recovered();
  lookups.hang();
  const reads: number[] = [];
  const before = lookups.begun;
  await at.proxy.refuse(); // a new connection needs the name
  const answering = arrivals(pod, 1, 3000);
  for (let i = 0; i < 15; i++) {
    const since = performance.now();
    await Promise.race([readFile(new URL(import.meta.url)), delay(2000)]);
    reads.push(performance.now() - since);
    await delay(200);
  }
  const answers = await answering;
  expect(Math.max(...reads)).toBeLessThan(50 + LATE_MS);
  expect(reads.toSorted((a, b) => a - b)[7]).toBeLessThan(50);
  expect(lookups.begun - before).toBe(1);
  expect(lookups.inFlight).toBe(1);
  for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
  await at.proxy.pass();
  lookups.release();
  const recoveryMs = await pod.recovered();
  await pod.conclude('lookups that hang', { answers: timesOf(answers), recoveryMs });
});

it('the log names a server that is no Redis, or rejects connections', async () => {
  await at.replaceServer({ args: ['--maxclients', '1'] });
  const only = new Redis(at.server.url);
  await only.ping();
  {
    await using pod = await Pod.start({ redis: at.server.url });
    expect((await pod.ask()).decidedBy).toBe('local');
    expect(pod.app.logs.of('warn').join()).toContain('max number of clients');
    only.disconnect();
    await pod.recovered();
  }
  await using http = await Pod.start({});
  await using pod = await Pod.start({ redis: `redis://127.0.0.1:${http.app.port}` });
  expect((await pod.ask()).decidedBy).toBe('local');
  expect(pod.app.logs.of('warn').join()).toContain('the server is no Redis: it answers');
});
