import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Decision, Policy, RateLimitModuleOptions, StoreStateChange } from 'nestjs-floodgate';
import { ADA, CAPACITY, Pod, POLICY, RECOVERY_MS } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

/** The deadline, and what the machine may be late by in a test. */
const DEADLINE_MS = 50;
const LATE_MS = 100;

let server: RedisServer;
let admin: Redis;
let changes: StoreStateChange[];

beforeEach(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
  admin.on('error', () => undefined);
  changes = [];
});

afterEach(async () => {
  admin.disconnect();
  await server.stop();
});

const startPod = (options: Partial<RateLimitModuleOptions> = {}): Promise<Pod> =>
  Pod.start({ redis: server.url, onStoreStateChange: (change) => void changes.push(change), ...options });

describe('a Redis that hangs', () => {
  it('is given up after the deadline, and once five have been given up nobody waits any more', async () => {
    await using pod = await startPod();
    await pod.ask();
    server.pause();
    const asked = performance.now();
    const waits: Promise<{ decision: Decision; ms: number }>[] = [];
    for (let turn = 0; turn < 300; turn++) {
      for (let i = 0; i < 1 + (turn % 2); i++) waits.push(pod.timed());
      await delay(1);
    }
    const answers = await Promise.all(waits);
    expect(new Set(answers.map(({ decision }) => decision.decidedBy))).toEqual(new Set(['local']));
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    const last = answers.slice(-50).map(({ ms }) => ms);
    expect(last.toSorted((a, b) => a - b)[25]).toBeLessThan(2);
    expect(changes).toMatchObject([{ deciding: false, reason: 'the store gave no answer within 50 ms', outageMs: 0 }]);

    server.resume();
    const recoveryMs = await pod.recovered();
    expect(changes).toHaveLength(2);
    expect(changes[1]).toMatchObject({ deciding: true, reason: 'the store gave no answer within 50 ms' });
    expect(changes[1]!.outageMs).toBeLessThan(performance.now() - asked);
    // What was sent before it opened is charged once Redis goes on, each at most once; nothing that was sent after it.
    const charged = CAPACITY - (await pod.leftInRedis());
    const sentBefore = answers.filter(({ ms }) => ms > DEADLINE_MS / 2).length;
    expect(charged).toBeGreaterThanOrEqual(1);
    expect(charged).toBeLessThanOrEqual(1 + sentBefore);
    record('hangs (SIGSTOP, SIGCONT)', { answers: answers.map(({ ms }) => ms), recoveryMs, doubles: 0 });
    expect(pod.app.logs.of('error')).toEqual([]);
  });

  it('is found again by itself, without a request', async () => {
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

  it('that comes and goes hands out no new local limit each time', async () => {
    await using pod = await startPod();
    let locally = 0;
    for (let round = 0; round < 3; round++) {
      server.pause();
      for (let i = 0; i < 600; i++) {
        const { decidedBy, allowed } = await pod.ask();
        if (decidedBy === 'local' && allowed) locally++;
      }
      server.resume();
      await pod.recovered();
    }
    expect(locally).toBe(CAPACITY);
  });
});

describe('a Redis that is gone', () => {
  it('is not asked, and decides again when it is back, from what it has', async () => {
    await using pod = await startPod();
    await pod.ask();
    await server.kill();
    const { decision, ms } = await pod.timed();
    expect([decision.decidedBy, decision.policies[0]!.remaining]).toEqual(['local', CAPACITY - 1]);
    expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    await server.restart(); // without its data
    const recoveryMs = await pod.recovered();
    expect(await pod.leftInRedis()).toBe(CAPACITY);
    record('killed and restarted', { answers: [ms], recoveryMs });
    expect(changes.map(({ deciding }) => deciding)).toEqual([false, true]);
    expect(pod.app.logs.of('warn')).toHaveLength(1);
  });

  it('at boot: the application boots, decides locally, and Redis takes over', async () => {
    await server.kill();
    await using pod = await startPod();
    expect((await pod.ask()).decidedBy).toBe('local');
    await server.restart();
    await pod.recovered();
  });
});

/** Troubles that Redis answers with, at once: how they begin, and how they end. */
const TROUBLES: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
  ['OOM', () => admin.config('SET', 'maxmemory', '1'), () => admin.config('SET', 'maxmemory', '0')],
  [
    'NOREPLICAS',
    () => admin.config('SET', 'min-replicas-to-write', '1'),
    () => admin.config('SET', 'min-replicas-to-write', '0'),
  ],
  ['NOPERM', () => admin.acl('SETUSER', 'default', '-evalsha'), () => admin.acl('SETUSER', 'default', '+evalsha')],
  [
    "The user executing the script can't run",
    () => admin.acl('SETUSER', 'default', '-set'),
    () => admin.acl('SETUSER', 'default', '+set'),
  ],
  ['READONLY', () => admin.replicaof('127.0.0.1', '1'), () => admin.replicaof('NO', 'ONE')],
];

describe('a Redis in trouble', () => {
  it.each(TROUBLES)('that answers %s: decided locally, one line in the log, and back', async (reason, begin, end) => {
    await using pod = await startPod();
    expect((await pod.ask()).decidedBy).toBe('store');
    const before = await pod.leftInRedis();
    await begin();
    const answers: number[] = [];
    for (let i = 0; i < 20; i++) {
      const { decision, ms } = await pod.timed();
      answers.push(ms);
      expect(decision).toMatchObject({ allowed: true, decidedBy: 'local' });
      expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    }
    // A demoted master is connected to anew, which is another reason.
    expect(changes[0]!.reason).toMatch(reason === 'READONLY' ? /READONLY|closed/ : reason);
    expect(changes[0]!.deciding).toBe(false);
    await end();
    const recoveryMs = await pod.recovered();
    expect(await pod.leftInRedis()).toBe(before);
    record(reason, { answers, recoveryMs });
    expect(pod.app.logs.of('warn').filter((line) => line.startsWith('Redis does not decide'))).toHaveLength(
      changes.filter(({ deciding }) => !deciding).length,
    );
  });

  it('that runs a script without end: BUSY or silence', async () => {
    await using pod = await startPod();
    await admin.config('SET', 'busy-reply-threshold', '10');
    const endless = new Redis(server.url);
    const running = endless.eval('while true do end', 0).catch(String);
    await delay(50);
    for (let i = 0; i < 10; i++) expect((await pod.ask()).decidedBy).toBe('local');
    await admin.script('KILL');
    await running;
    endless.disconnect();
    await pod.recovered();
  });

  it('a wrong type under one key is that key’s own failure: the others of its batch are decided by Redis', async () => {
    await using pod = await startPod();
    await pod.ask();
    const [key = ''] = await admin.keys('*ada*');
    await admin.del(key);
    await admin.lpush(key, 'something else');
    for (let i = 0; i < 10; i++) {
      const [bad, good] = await Promise.all([pod.ask(), pod.limiter.consume(POLICY, { kind: 'user', value: `u${i}` })]);
      expect([bad.decidedBy, good.decidedBy]).toEqual(['local', 'store']);
    }
    expect(changes).toEqual([]);
  });
});

describe('what requests get meanwhile', () => {
  const [local, open, closed] = (['local', 'open', 'closed'] as const).map((onStoreFailure): Policy => ({
    ...POLICY,
    name: onStoreFailure,
    onStoreFailure,
  })) as [Policy, Policy, Policy];

  it('is what each policy says: closed prevails, open does not count', async () => {
    await using pod = await startPod({ onStoreFailure: 'open' });
    await server.kill();
    expect(await pod.ask()).toMatchObject({ allowed: true, decidedBy: 'open', policies: [] });
    expect(await pod.limiter.consume(open, ADA)).toMatchObject({ decidedBy: 'open', policies: [] });
    expect(await pod.limiter.consume([open, local], ADA)).toMatchObject({
      decidedBy: 'local',
      policies: [{ policy: 'local', remaining: CAPACITY - 1 }],
    });
    const refusal = { status: 503, retryAfter: 1 };
    await expect(pod.limiter.consume(closed, ADA)).rejects.toMatchObject(refusal);
    await expect(pod.limiter.consume([local, open, closed], ADA)).rejects.toMatchObject(refusal);
    // Which charged nothing.
    expect(await pod.limiter.peek(local, ADA)).toMatchObject({ policies: [{ remaining: CAPACITY - 1 }] });
  });

  it.each<[RateLimitModuleOptions['localShare'], number]>([
    [1, CAPACITY],
    [4, CAPACITY / 4],
    [10_000, 1],
    [() => 3, Math.floor(CAPACITY / 3)],
    [() => Number.NaN, CAPACITY],
  ])('is a share of the limit: localShare %p admits %d', async (localShare, admits) => {
    await using pod = await startPod({ localShare: localShare! });
    await server.kill();
    let admitted = 0;
    for (let i = 0; i < CAPACITY + 10; i++) if ((await pod.ask()).allowed) admitted++;
    expect(admitted).toBe(admits);
    expect((await pod.ask()).decidedBy).toBe('local');
  });

  it('is never less than what one request takes', async () => {
    await using pod = await startPod({ localShare: 100 });
    await server.kill();
    const heavy: Policy = { ...POLICY, name: 'heavy', cost: 30 };
    const asked = [await pod.limiter.consume(heavy, ADA), await pod.limiter.consume(heavy, ADA)];
    expect(asked.map(({ allowed }) => allowed)).toEqual([true, false]);
  });
});

it('closes within a second while Redis hangs', async () => {
  const pod = await startPod();
  await pod.ask();
  server.pause();
  const waiting = pod.ask();
  const since = performance.now();
  await pod.app.close();
  expect(performance.now() - since).toBeLessThan(1000);
  expect((await waiting).decidedBy).toBe('local');
});

it('a stalled event loop is no failure: 20 stalls of 80 ms, and Redis decides everything', async () => {
  await using pod = await startPod();
  await pod.ask();
  const answers: { decision: Decision; ms: number }[] = [];
  for (let i = 0; i < 20; i++) {
    const asked = [pod.timed(), pod.timed()];
    await new Promise(setImmediate); // they are sent
    const until = performance.now() + 80;
    while (performance.now() < until);
    answers.push(...(await Promise.all(asked)));
  }
  expect(answers.map(({ decision }) => decision.decidedBy)).toEqual(answers.map(() => 'store'));
  expect(changes).toEqual([]);
  expect(CAPACITY - (await pod.leftInRedis())).toBe(41);
  record('event loop stalled 80 ms, 20 times', { answers: answers.map(({ ms }) => ms) });
});
