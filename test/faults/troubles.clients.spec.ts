import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RateLimitModuleOptions, StoreStateChange } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { type Answer, CAPACITY, Pod } from '../support/faults/pod.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { until } from '../support/faults/until.js';
import { nodeWarnings } from '../support/node-warnings.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

/** The deadline, and the milliseconds that a busy machine may add in a test. */
const DEADLINE_MS = 50;
const LATE_MS = 250;

let server: RedisServer;
let admin: Redis;
let changes: StoreStateChange[];

async function startServer(options: Parameters<typeof RedisServer.start>[0]): Promise<void> {
  server = await RedisServer.start(options);
  admin = new Redis(server.url, { retryStrategy: () => 20, enableReadyCheck: false });
  admin.on('error', () => undefined);
}

beforeEach(() => {
  changes = [];
});

afterEach(async () => {
  admin.disconnect();
  await server.stop();
});

const startPod = (options: Partial<RateLimitModuleOptions> = {}): Promise<Pod> =>
  Pod.start({ redis: server.url, onStoreStateChange: (change) => void changes.push(change), ...options });

function expectLocal(answers: readonly Answer[]): void {
  for (const { decision, ms } of answers) {
    expect(decision).toMatchObject({ allowed: true, decidedBy: 'local' });
    expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
  }
}

/** A folder that exists when Redis enters it, and not when Redis writes. */
async function loseFolder(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'floodgate-lost-'));
  await admin.config('SET', 'dir', folder);
  rmSync(folder, { recursive: true });
  await admin.config('SET', 'save', '3600 1000000');
  await save();
  await expect(admin.set('any', 'value')).rejects.toThrow('MISCONF');
}

async function findFolder(): Promise<void> {
  await admin.config('SET', 'dir', tmpdir());
  await admin.config('SET', 'dbfilename', `floodgate-${server.port}.rdb`);
  await save();
  await until('it takes writes again', 5000, async () => (await admin.set('any', 'value')) === 'OK');
  rmSync(join(tmpdir(), `floodgate-${server.port}.rdb`));
}

async function save(): Promise<void> {
  await admin.bgsave();
  await until('the save has ended', 5000, async () =>
    (await admin.info('persistence')).includes('rdb_bgsave_in_progress:0'),
  );
}

/** Troubles that Redis reports at once: how they begin, and how they end. */
const TROUBLES: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
  ['OOM', () => admin.config('SET', 'maxmemory', '1'), () => admin.config('SET', 'maxmemory', '0')],
  ['MISCONF', loseFolder, findFolder],
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
  // MISCONF needs CONFIG SET dir, which Redis allows only when it is started so.
  beforeEach(() => startServer({ args: ['--enable-protected-configs', 'local'] }));

  it.each(TROUBLES)(
    'that answers %s: decided locally, with one line in the log, then by Redis again',
    async (reason, begin, end) => {
      await using pod = await startPod();
      expect((await pod.ask()).decidedBy).toBe('store');
      const before = await pod.leftInRedis();
      await begin();
      const answers = await arrivals(pod, 1, 150);
      expectLocal(answers);
      // The module reconnects after a demotion, which is another reason.
      expect(changes[0]!.reason).toMatch(reason === 'READONLY' ? /READONLY|closed/ : reason);
      expect(changes[0]!.available).toBe(false);
      await end();
      const recoveryMs = await pod.recovered();
      expect(await pod.leftInRedis()).toBe(before);
      expect(pod.app.logs.of('warn').filter((line) => line.startsWith('Redis is unavailable'))).toHaveLength(
        changes.filter(({ available }) => !available).length,
      );
      await pod.conclude(reason, { answers: timesOf(answers), recoveryMs });
    },
  );

  it('that is a replica from the start: decided locally, and by Redis when it is a master', async () => {
    await admin.replicaof('127.0.0.1', '1');
    await using pod = await startPod();
    const answers = await arrivals(pod, 1, 150);
    expectLocal(answers);
    await admin.replicaof('NO', 'ONE');
    const recoveryMs = await pod.recovered();
    await pod.conclude('READONLY, a replica from the start', { answers: timesOf(answers), recoveryMs });
  });

  it('that is demoted while many batches are in flight: the connection ends once', async () => {
    await using proxy = await TcpProxy.start(server.port);
    await using pod = await startPod({ redis: proxy.url, deadline: 1000 });
    await pod.recovered();
    const warnings = nodeWarnings();
    proxy.delay(50);
    const asked: Promise<Answer>[] = [];
    for (let i = 0; i < 30; i++) {
      asked.push(pod.timed());
      await nextTurn();
    }
    await admin.replicaof('127.0.0.1', '1');
    const answers = await Promise.all(asked);
    expect(answers.some(({ decision }) => decision.decidedBy === 'local')).toBe(true);
    await admin.replicaof('NO', 'ONE');
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    expect(await warnings()).toEqual([]);
    await pod.conclude('READONLY, many under way', { answers: timesOf(answers), recoveryMs });
  });

  it('that runs an endless script: BUSY or silence', async () => {
    await using pod = await startPod();
    await pod.ask();
    await admin.config('SET', 'busy-reply-threshold', '10');
    const endless = new Redis(server.url);
    const running = endless.eval('while true do end', 0).catch(String);
    await delay(50);
    const answers = await arrivals(pod, 1, 150);
    expectLocal(answers);
    await admin.script('KILL');
    await running;
    endless.disconnect();
    const recoveryMs = await pod.recovered();
    await pod.conclude('BUSY', { answers: timesOf(answers), recoveryMs });
  });

  it.each<[string, (key: string) => Promise<unknown>]>([
    ['a foreign type', (key) => admin.lpush(key, 'something else')],
    ['a corrupt state', (key) => admin.set(key, 'inf')],
  ])('%s under one key fails only that key’s requests: Redis decides the others of the batch', async (what, spoil) => {
    await using pod = await startPod();
    await pod.ask();
    const [key = ''] = await admin.keys('*ada*');
    await admin.del(key);
    await spoil(key);
    const answers: Answer[] = [];
    for (let i = 0; i < 50; i++) {
      const [bad, good] = await Promise.all([pod.timed(), pod.timedOnce()]);
      expect([bad.decision.decidedBy, good.decision.decidedBy]).toEqual(['local', 'store']);
      answers.push(bad, good);
    }
    expect(changes).toEqual([]);
    await admin.del(key);
    const recoveryMs = await pod.recovered();
    await pod.conclude(`${what} under a key`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
  });
});

describe('a Redis that is killed and loads much data', () => {
  // Each key takes Redis two milliseconds to load, until the setting changes; it serves clients after every 1,024 bytes.
  const KEYS = 2000;
  const args = ['--key-load-delay', '2000', '--loading-process-events-interval-bytes', '1024'];

  beforeEach(() => startServer({ keepsData: true, args }));

  it('(LOADING) delays no request, and decides from its own data sooner than it estimated', async () => {
    await using pod = await startPod();
    await admin.mset(Object.fromEntries(Array.from({ length: KEYS }, (_, i) => [`ballast ${i}`, 'x'.repeat(100)])));
    await admin.bgrewriteaof(); // a rewritten file is loaded key by key
    await until('it is rewritten', 5000, async () =>
      (await admin.info('persistence')).includes('aof_rewrite_in_progress:0'),
    );
    await Promise.all(Array.from({ length: 100 }, () => pod.ask()));
    await server.kill();
    const back = server.restart();
    await until('it loads', 5000, async () => (await admin.info('persistence')).includes('loading:1'));
    const answers = await arrivals(pod, 1, 1200);
    expectLocal(answers);
    await admin.config('SET', 'key-load-delay', '0');
    await back;
    const recoveryMs = await pod.recovered();
    expect(CAPACITY - (await pod.leftInRedis())).toBe(100);
    await pod.conclude('LOADING', { answers: timesOf(answers), recoveryMs });
  });
});
