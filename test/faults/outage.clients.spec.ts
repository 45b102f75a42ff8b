import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Policy, RateLimitModuleOptions, StoreStateChange } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { ADA, type Answer, CAPACITY, Pod, POLICY, RECOVERY_MS } from '../support/faults/pod.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

/** The deadline, and the milliseconds that a busy machine may add in a test. */
const DEADLINE_MS = 50;
const LATE_MS = 250;

let server: RedisServer;
let changes: StoreStateChange[];

beforeEach(async () => {
  server = await RedisServer.start();
  changes = [];
});

afterEach(() => server.stop());

const startPod = (options: Partial<RateLimitModuleOptions> = {}): Promise<Pod> =>
  Pod.start({ redis: server.url, onStoreStateChange: (change) => void changes.push(change), ...options });

describe('a Redis that hangs', () => {
  it('fails requests at the deadline, and after five failures no request waits', async () => {
    await using pod = await startPod();
    await pod.ask();
    server.pause();
    const asked = performance.now();
    const waits: Promise<Answer>[] = [];
    for (let turn = 0; turn < 300; turn++) {
      waits.push(pod.timed());
      if (turn % 2 === 1) waits.push(pod.timedOnce());
      await delay(1);
    }
    const answers = await Promise.all(waits);
    expect(new Set(answers.map(({ decision }) => decision.decidedBy))).toEqual(new Set(['local']));
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    const last = timesOf(answers).slice(-50);
    expect(last.toSorted((a, b) => a - b)[25]).toBeLessThan(2);
    expect(changes).toMatchObject([{ available: false, reason: 'the store gave no answer within 50 ms', outageMs: 0 }]);

    server.resume();
    const recoveryMs = await pod.recovered();
    expect(changes).toHaveLength(2);
    expect(changes[1]).toMatchObject({ available: true, reason: 'the store gave no answer within 50 ms' });
    expect(changes[1]!.outageMs).toBeLessThan(performance.now() - asked);
    // Redis charges the requests that were sent before the breaker opened, each at most once, and no later one.
    const charged = CAPACITY - (await pod.leftInRedis());
    const sentBefore = answers.filter(({ ms }) => ms > DEADLINE_MS / 2).length;
    expect(charged).toBeGreaterThanOrEqual(1);
    expect(charged).toBeLessThanOrEqual(1 + sentBefore);
    await pod.conclude('hangs (SIGSTOP, SIGCONT)', { answers: timesOf(answers), recoveryMs });
  });

  it('at 1,000 requests per second, for longer than a connection is kept: every request is answered in time', async () => {
    await using pod = await startPod();
    await pod.ask();
    server.pause();
    const answers = await arrivals(pod, 1, 2500);
    expect(answers.length).toBeGreaterThan(1000);
    expect(new Set(answers.map(({ decision }) => decision.decidedBy))).toEqual(new Set(['local']));
    // The first requests wait for the deadline. The table shows this machine's figure for the promised 55 ms of 99 in 100.
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    server.resume();
    const recoveryMs = await pod.recovered();
    await pod.conclude('hangs, at 1,000 requests/s', { answers: timesOf(answers), recoveryMs });
  });

  it('is found again without a request', async () => {
    await using pod = await startPod();
    server.pause();
    for (let i = 0; i < 5; i++) await pod.ask();
    await delay(600);
    expect(changes).toHaveLength(1);
    server.resume();
    const since = performance.now();
    while (changes.length < 2) {
      expect(performance.now() - since).toBeLessThan(RECOVERY_MS);
      await delay(5);
    }
    expect((await pod.ask()).decidedBy).toBe('store');
  });

  it('that comes and goes gives no new local limit each time', async () => {
    await using pod = await startPod();
    const answers: Answer[] = [];
    for (let round = 0; round < 3; round++) {
      server.pause();
      for (let i = 0; i < 600; i++) answers.push(await pod.timed());
      server.resume();
      await pod.recovered();
    }
    const admitted = answers.filter(({ decision }) => decision.decidedBy === 'local' && decision.allowed);
    expect(admitted).toHaveLength(CAPACITY);
    await pod.conclude('hangs, 3 times', { answers: timesOf(answers) });
  });
});

describe('a Redis that is killed', () => {
  it('is not asked, and decides again from its own data when it is back', async () => {
    await using pod = await startPod();
    await pod.ask();
    await server.kill();
    const answers = [await pod.timed()];
    const { decision } = answers[0]!;
    expect([decision.decidedBy, decision.policies[0]!.remaining]).toEqual(['local', CAPACITY - 1]);
    answers.push(...(await arrivals(pod, 1, 200)));
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    await server.restart(); // without its data
    const recoveryMs = await pod.recovered();
    expect(await pod.leftInRedis()).toBe(CAPACITY);
    expect(changes.map(({ available }) => available)).toEqual([false, true]);
    expect(pod.app.logs.of('warn')).toHaveLength(1);
    await pod.conclude('killed and restarted', { answers: timesOf(answers), recoveryMs }, { limits: 2 });
  });

  it('at boot: the application boots, decides locally, and Redis takes over', async () => {
    await server.kill();
    await using pod = await startPod();
    const answers = await arrivals(pod, 1, 100);
    expect(answers.filter(({ decision }) => decision.decidedBy !== 'local')).toEqual([]);
    await server.restart();
    const recoveryMs = await pod.recovered();
    await pod.conclude('away at boot', { answers: timesOf(answers), recoveryMs });
  });
});

describe('the fallback', () => {
  const [local, open, closed] = (['local', 'open', 'closed'] as const).map((onStoreFailure): Policy => ({
    ...POLICY,
    name: onStoreFailure,
    onStoreFailure,
  })) as [Policy, Policy, Policy];

  it('is that of each policy: closed prevails, open does not count', async () => {
    await using pod = await startPod({ onStoreFailure: 'open' });
    await server.kill();
    expect(await pod.ask()).toMatchObject({ allowed: true, decidedBy: 'open', policies: [] });
    expect(await pod.limiter.consume(open, ADA)).toMatchObject({ decidedBy: 'open', policies: [] });
    expect(await pod.limiter.consume([open, local], ADA)).toMatchObject({
      decidedBy: 'local',
      policies: [{ policy: 'local', remaining: CAPACITY - 1 }],
    });
    const unavailable = { name: 'LimiterUnavailableError', retryAfterMs: 1000 };
    await expect(pod.limiter.consume(closed, ADA)).rejects.toMatchObject(unavailable);
    await expect(pod.limiter.consume([local, open, closed], ADA)).rejects.toMatchObject(unavailable);
    // The errors charged nothing.
    expect(await pod.limiter.peek(local, ADA)).toMatchObject({ policies: [{ remaining: CAPACITY - 1 }] });
  });

  it.each<[RateLimitModuleOptions['localShare'], number]>([
    [1, CAPACITY],
    [4, CAPACITY / 4],
    [10_000, 1],
    [() => 3, Math.floor(CAPACITY / 3)],
    [() => Number.NaN, CAPACITY],
  ])('admits a share of the limit: localShare %p admits %d', async (localShare, admits) => {
    await using pod = await startPod({ localShare: localShare! });
    await server.kill();
    let admitted = 0;
    for (let i = 0; i < CAPACITY + 10; i++) if ((await pod.ask()).allowed) admitted++;
    expect(admitted).toBe(admits);
    expect((await pod.ask()).decidedBy).toBe('local');
  });

  it('takes at most fallbackMaxBytes: clients without room share one limit', async () => {
    await using pod = await startPod({ fallbackMaxBytes: 5_000 });
    await server.kill();
    let admitted = 0;
    for (let i = 0; i < 60; i++) {
      const client = { kind: 'user', value: `client-${i}` };
      if ((await pod.limiter.consume(POLICY, client, { cost: CAPACITY })).allowed) admitted++;
    }
    expect(admitted).toBeGreaterThan(5);
    expect(admitted).toBeLessThan(25);
    expect(pod.limiter.stats().memoryOverflows).toBe(60 - admitted + 1);
  });

  it('admits at least the cost of one request', async () => {
    await using pod = await startPod({ localShare: 100 });
    await server.kill();
    const heavy: Policy = { ...POLICY, name: 'heavy', cost: 30 };
    const asked = [await pod.limiter.consume(heavy, ADA), await pod.limiter.consume(heavy, ADA)];
    expect(asked.map(({ allowed }) => allowed)).toEqual([true, false]);
  });
});

it('a stalled event loop is no failure: Redis decides everything through 20 stalls of 80 ms', async () => {
  await using pod = await startPod();
  await pod.ask();
  const answers: Answer[] = [];
  for (let i = 0; i < 20; i++) {
    const asked = [pod.timed(), pod.timedOnce()];
    await new Promise(setImmediate); // the requests are sent
    const until = performance.now() + 80;
    while (performance.now() < until);
    answers.push(...(await Promise.all(asked)));
  }
  expect(answers.map(({ decision }) => decision.decidedBy)).toEqual(answers.map(() => 'store'));
  expect(changes).toEqual([]);
  expect(CAPACITY - (await pod.leftInRedis())).toBe(21);
  await pod.conclude('event loop stalled 80 ms, 20 times', { answers: timesOf(answers) });
});
