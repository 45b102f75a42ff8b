import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Policy } from 'nestjs-floodgate';
import { arrivals, expectLocal, timesOf } from '../support/faults/arrivals.js';
import { useOneRedis } from '../support/faults/one-redis.js';
import { ADA, type Answer, CAPACITY, type Pod, POLICY } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';
import { nodeWarnings } from '../support/node-warnings.js';

const LIMIT_MS = 10_000;

// MISCONF needs CONFIG SET dir, which Redis allows only when it is started so.
const on = useOneRedis({ args: ['--enable-protected-configs', 'local', '--busy-reply-threshold', '10'] });

/** A folder that exists when Redis enters it, and not when Redis writes. */
async function loseFolder(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'floodgate-lost-'));
  await on.admin.config('SET', 'dir', folder);
  rmSync(folder, { recursive: true });
  await on.admin.config('SET', 'save', '3600 1000000');
  await save();
  await expect(on.admin.set('any', 'value')).rejects.toThrow('MISCONF');
}

async function findFolder(): Promise<void> {
  await on.admin.config('SET', 'dir', tmpdir());
  await on.admin.config('SET', 'dbfilename', `floodgate-${on.server.port}.rdb`);
  await save();
  await until('it takes writes again', LIMIT_MS, async () => (await on.admin.set('any', 'value')) === 'OK');
  await on.admin.config('SET', 'save', '');
  rmSync(join(tmpdir(), `floodgate-${on.server.port}.rdb`));
}

async function save(): Promise<void> {
  await on.admin.bgsave();
  await until('the save has ended', LIMIT_MS, async () =>
    (await on.admin.info('persistence')).includes('rdb_bgsave_in_progress:0'),
  );
}

/** Runs a script without end, from another connection. */
async function occupy(): Promise<void> {
  const endless = new Redis(on.server.url);
  void endless.eval('while true do end', 0).catch(() => endless.disconnect());
  await until('Redis is busy', LIMIT_MS, () => on.admin.ping().then(() => false, String));
}

const set = (name: string, value: string) => (): Promise<unknown> => on.admin.config('SET', name, value);
const acl = (change: string) => (): Promise<unknown> => on.admin.acl('SETUSER', 'default', change);

interface Fault {
  readonly fault: string;
  /** Of the first report that Redis is unavailable. */
  readonly reason: RegExp;
  readonly begin: () => unknown;
  readonly end: () => unknown;
  /** Limits that Redis may grant: each loss of its data adds one. Default 1. */
  readonly limits?: number;
}

const SILENCE = /^the store gave no answer within 50 ms$/;
const CLOSED = /./;

const OF_REDIS: readonly Fault[] = [
  { fault: 'hangs (SIGSTOP)', reason: SILENCE, begin: () => on.server.pause(), end: () => on.server.resume() },
  { fault: 'killed', reason: CLOSED, begin: () => on.server.kill(), end: () => on.server.restart(), limits: 2 },
  { fault: 'OOM', reason: /OOM/, begin: set('maxmemory', '1'), end: set('maxmemory', '0') },
  { fault: 'MISCONF', reason: /MISCONF/, begin: loseFolder, end: findFolder },
  {
    fault: 'NOREPLICAS',
    reason: /NOREPLICAS/,
    begin: set('min-replicas-to-write', '1'),
    end: set('min-replicas-to-write', '0'),
  },
  { fault: 'NOPERM', reason: /NOPERM/, begin: acl('-evalsha'), end: acl('+evalsha') },
  { fault: 'no right of the script', reason: /user executing the script/, begin: acl('-set'), end: acl('+set') },
  {
    fault: 'READONLY',
    reason: /READONLY|closed/, // the module reconnects after a demotion, which is another reason
    begin: () => on.admin.replicaof('127.0.0.1', '1'),
    end: () => on.admin.replicaof('NO', 'ONE'),
  },
  { fault: 'an endless script', reason: /BUSY|no answer/, begin: occupy, end: () => on.admin.script('KILL') },
];

const pass = (): Promise<void> => on.proxy.pass();
const OF_THE_NETWORK: readonly Fault[] = [
  { fault: 'answers lost', reason: SILENCE, begin: () => on.proxy.dropReplies(), end: pass },
  {
    fault: 'answers lost after execution, with their connections',
    reason: CLOSED,
    begin: () => on.proxy.cut({ containing: 'evalsha', times: Infinity }),
    end: pass,
  },
  { fault: 'black hole', reason: SILENCE, begin: () => on.proxy.blackHole(), end: pass },
  { fault: 'latency above the deadline', reason: SILENCE, begin: () => on.proxy.delay(150), end: pass },
  { fault: 'connections reset', reason: CLOSED, begin: () => on.proxy.reset(), end: pass },
  { fault: 'connections refused', reason: CLOSED, begin: () => on.proxy.refuse(), end: pass },
];

/** Every request is decided by its deadline while the fault lasts, and Redis decides again by itself when it has ended. */
async function expectPassed(pod: Pod, { fault, reason, begin, end, limits = 1 }: Fault): Promise<void> {
  await pod.recovered();
  await pod.ask();
  on.changes.length = 0;
  await begin();
  const answers = await arrivals(pod, 100);
  expectLocal(answers);
  expect(on.changes[0]).toMatchObject({ available: false, outageMs: 0, reason: expect.stringMatching(reason) });
  await end();
  const recoveryMs = await pod.recovered();
  expect(on.changes.at(-1)).toMatchObject({ available: true });
  const warnings = pod.app.logs.of('warn').filter((line) => line.startsWith('Redis is unavailable'));
  expect(warnings).toHaveLength(on.changes.filter(({ available }) => !available).length);
  await pod.conclude(fault, { answers: timesOf(answers), recoveryMs }, { limits });
}

describe('a fault: requests are decided locally by their deadline, with one line in the log, then by Redis again', () => {
  it.each(OF_REDIS)('of Redis: $fault', async (fault) => expectPassed(await on.start(), fault));

  it.each(OF_THE_NETWORK)('of the network: $fault', async (fault) =>
    expectPassed(await on.start({ redis: on.proxy.url }), fault),
  );

  it.each([
    ['gone', () => on.server.kill(), () => on.server.restart()],
    ['a replica', () => on.admin.replicaof('127.0.0.1', '1'), () => on.admin.replicaof('NO', 'ONE')],
  ])('from the start: Redis is %s, the application boots, and Redis takes over', async (fault, begin, end) => {
    await begin();
    const pod = await on.start();
    const answers = await arrivals(pod, 50);
    expectLocal(answers);
    await end();
    const recoveryMs = await pod.recovered();
    await pod.conclude(`${fault} at boot`, { answers: timesOf(answers), recoveryMs });
  });
});

it('after five missed deadlines no request waits, and Redis is found again without a request', async () => {
  const pod = await on.start({ deadline: 200 });
  await pod.recovered();
  on.server.pause();
  for (let i = 0; i < 5; i++) expect((await pod.ask()).decidedBy).toBe('local');
  expect(on.changes).toMatchObject([{ available: false }]);
  for (let i = 0; i < 50; i++) {
    const asked = pod.ask().then(({ decidedBy }) => decidedBy);
    expect(await Promise.race([asked, nextTurn().then(nextTurn)])).toBe('local');
  }
  on.server.resume();
  await until('Redis is found', LIMIT_MS, () => on.changes.length === 2);
  expect(on.changes[1]).toMatchObject({ available: true });
  await pod.conclude('hangs, found again without a request', { answers: [] });
});

it('a Redis that comes and goes gives no new local limit each time', async () => {
  const pod = await on.start();
  await pod.recovered();
  const answers: Answer[] = [];
  for (let round = 0; round < 3; round++) {
    on.server.pause();
    for (let i = 0; i < 600; i++) answers.push(await pod.timed());
    on.server.resume();
    await pod.recovered();
  }
  const admitted = answers.filter(({ decision }) => decision.decidedBy === 'local' && decision.allowed);
  expect(admitted).toHaveLength(CAPACITY);
  await pod.conclude('hangs, 3 times', { answers: timesOf(answers) });
});

it('a demotion while many batches are in flight ends the connection once', async () => {
  const pod = await on.start({ redis: on.proxy.url, deadline: 2000 });
  await pod.recovered();
  const warnings = nodeWarnings();
  on.proxy.delay(50);
  const asked: Promise<Answer>[] = [];
  for (let i = 0; i < 30; i++) {
    asked.push(pod.timed());
    await nextTurn();
  }
  await on.admin.replicaof('127.0.0.1', '1');
  const answers = await Promise.all(asked);
  await on.admin.replicaof('NO', 'ONE');
  await on.proxy.pass();
  const recoveryMs = await pod.recovered();
  expect(await warnings()).toEqual([]);
  await pod.conclude('READONLY, many under way', { answers: timesOf(answers), recoveryMs });
});

it('a stalled event loop is no failure: Redis decides everything', async () => {
  const pod = await on.start({ deadline: 500 });
  await pod.recovered();
  for (let i = 0; i < 2; i++) {
    const asked = [pod.timed(), pod.timedOnce()];
    await nextTurn(); // the requests are sent
    const end = performance.now() + 800;
    while (performance.now() < end);
    for (const { decision } of await Promise.all(asked)) expect(decision.decidedBy).toBe('store');
  }
  expect(on.changes).toEqual([]);
  await pod.conclude('event loop stalled 800 ms, twice', { answers: [] });
});

describe('the fallback', () => {
  it('is that of each policy: closed prevails, open does not count', async () => {
    const [local, open, closed] = (['local', 'open', 'closed'] as const).map((onStoreFailure): Policy => ({
      ...POLICY,
      name: onStoreFailure,
      onStoreFailure,
    })) as [Policy, Policy, Policy];
    await on.server.kill();
    const { limiter } = await on.start({ onStoreFailure: 'open' });
    expect(await limiter.consume(POLICY, ADA)).toMatchObject({ allowed: true, decidedBy: 'open', policies: [] });
    expect(await limiter.consume([open, local], ADA)).toMatchObject({
      decidedBy: 'local',
      policies: [{ policy: 'local', remaining: CAPACITY - 1 }],
    });
    const unavailable = { name: 'LimiterUnavailableError', retryAfterMs: 1000 };
    await expect(limiter.consume([local, open, closed], ADA)).rejects.toMatchObject(unavailable);
    // The error charged nothing.
    expect(await limiter.peek(local, ADA)).toMatchObject({ policies: [{ remaining: CAPACITY - 1 }] });
  });

  it('takes at most fallbackMaxBytes: clients without room share one limit', async () => {
    await on.server.kill();
    const pod = await on.start({ fallbackMaxBytes: 5_000 });
    let admitted = 0;
    for (let i = 0; i < 60; i++) {
      const client = { kind: 'user', value: `client-${i}` };
      if ((await pod.limiter.consume(POLICY, client, { cost: CAPACITY })).allowed) admitted++;
    }
    expect(admitted).toBeGreaterThan(5);
    expect(admitted).toBeLessThan(25);
    expect(pod.limiter.stats().memoryOverflows).toBe(60 - admitted + 1);
  });
});
