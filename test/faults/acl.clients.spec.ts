import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AlgorithmName, Policy } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { ADA, Pod } from '../support/faults/pod.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000);

/** The rights of the ACL line in docs/redis.md: the program's commands, and the commands that run it. */
const RIGHTS = 'evalsha eval time get mget exists set del llen lindex rpush ltrim expireat pexpire info'.split(' ');
const USER = 'floodgate';
const PASSWORD = 'secret-of-the-test';

/** A concurrency runs the commands of the log. */
const POLICIES: Readonly<Record<Exclude<AlgorithmName, 'concurrency'>, Policy>> = {
  'token-bucket': { name: 'tb', algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
  'leaky-bucket': { name: 'lb', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h' },
  'fixed-window': { name: 'fw', algorithm: 'fixed-window', limit: 10, window: '1h' },
  // Large enough to be stored as a string first, then as a list.
  'sliding-window-log': { name: 'swl', algorithm: 'sliding-window-log', limit: 500, window: '1h' },
  'sliding-window-counter': { name: 'swc', algorithm: 'sliding-window-counter', limit: 10, window: '1h' },
};

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await admin.flushall();
  await admin.script('FLUSH');
  await grant(RIGHTS);
  await admin.call('ACL', 'LOG', 'RESET');
});

function grant(rights: readonly string[]): Promise<unknown> {
  return admin.call(
    'ACL',
    'SETUSER',
    USER,
    'reset',
    'on',
    `>${PASSWORD}`,
    '~rl:*',
    '-@all',
    ...rights.map((r) => `+${r}`),
  );
}

async function startPod(clock: 'redis' | 'app' = 'redis'): Promise<Pod> {
  const url = new URL(server.url);
  url.username = USER;
  url.password = PASSWORD;
  return Pod.start({ redis: url.href, clock });
}

async function deciders(pod: Pod): Promise<Record<string, string>> {
  const entries: [string, string][] = [];
  for (const policy of Object.values(POLICIES)) {
    const costs = policy.algorithm === 'sliding-window-log' ? [1, 200, 1, 0] : [1, 0, 10];
    const told = new Set<string>();
    for (const cost of costs) told.add((await pod.limiter.consume(policy, ADA, { cost })).decidedBy);
    entries.push([policy.name!, [...told].join()]);
  }
  // A list whose old end has expired is trimmed.
  const brief: Policy = { name: 'brief', algorithm: 'sliding-window-log', limit: 500, window: '20ms' };
  await pod.limiter.consume(brief, ADA, { cost: 200 });
  await delay(25);
  entries.push(['brief', (await pod.limiter.consume(brief, ADA)).decidedBy]);
  return Object.fromEntries(entries);
}

const ALL_STORE = { tb: 'store', lb: 'store', fw: 'store', swl: 'store', swc: 'store', brief: 'store' };

describe('a Redis user with the least rights', () => {
  it.each(['redis', 'app'] as const)('decides with every algorithm, and resets (clock: %s)', async (clock) => {
    await using pod = await startPod(clock);
    expect(await deciders(pod)).toEqual(ALL_STORE);
    for (const policy of Object.values(POLICIES)) await pod.limiter.reset(policy, ADA);
    const left = (await admin.keys('rl:{user:ada}*')).filter((key) => !key.includes(':brief:'));
    expect(left).toEqual([]);
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
    expect(pod.app.logs.of('warn')).toEqual([]);
  });

  it.each(RIGHTS.filter((right) => !['eval', 'get', 'info', 'del', 'pexpire'].includes(right)))(
    'needs each of them: without %s Redis misses a decision, and the log names the missing right',
    async (right) => {
      // Redis knows the script, as after the first request of any pod.
      await (async () => {
        await using pod = await startPod();
        await deciders(pod);
      })();
      await admin.flushall();
      await grant(RIGHTS.filter((other) => other !== right));
      await using pod = await startPod();
      expect(Object.values(await deciders(pod)).join()).toContain('local');
      expect(pod.app.logs.of('warn').join()).toMatch(
        right === 'evalsha'
          ? /NOPERM.*'evalsha'/
          : /The user executing the script can't run this command or subcommand|NOPERM/,
      );
      expect(pod.app.logs.text).not.toContain(PASSWORD);
    },
  );

  it('keeps the log of reservations that expire with the rights of docs/redis.md, and warns without them', async () => {
    const monthly: Policy = { name: 'monthly', algorithm: 'fixed-window', limit: 10, window: '300d' };
    const reserve = { cost: 5, expires: '1m', atExpiry: 'cancel' } as const;
    const entries = async (): Promise<number> => {
      const keys = await admin.keys('rl:{reservations-*');
      return (await Promise.all(keys.map((key) => admin.zcard(key)))).reduce((sum, count) => sum + count, 0);
    };
    const more = ['zcard', 'zadd', 'pttl', 'zrem', 'zrangebyscore'];
    for (const missing of [undefined, 'zcard', 'zadd', 'pttl']) {
      await admin.flushall();
      await grant([...RIGHTS, ...more.filter((right) => right !== missing)]);
      await using pod = await startPod();
      const reservation = await pod.limiter.reserve(monthly, ADA, reserve);
      await delay(100);
      expect(await entries()).toBe(missing === undefined ? 1 : 0);
      expect(await reservation.settle(2)).toMatchObject({ settledBy: 'store', policies: [{ refunded: 3 }] });
      expect(await entries()).toBe(0);
      const warnings = pod.app.logs.of('warn').join();
      const warned = /^A reservation stays charged if this process dies: .*(?:can't run this command|NOPERM)/;
      expect(warnings).toMatch(missing === undefined ? /^$/ : warned);
    }
  });

  it('decides without the right to get, too, which an older version did not need', async () => {
    await grant(RIGHTS.filter((right) => right !== 'get'));
    await using pod = await startPod();
    expect(await deciders(pod)).toEqual(ALL_STORE);
    expect(pod.app.logs.of('warn')).toEqual([]);
  });

  it('cannot load the script into Redis without eval', async () => {
    await grant(RIGHTS.filter((right) => right !== 'eval'));
    await using pod = await startPod();
    expect((await pod.ask()).decidedBy).toBe('local');
    expect(pod.app.logs.of('warn').join()).toContain('NOPERM');
  });

  it('may not write under another key prefix', async () => {
    await using pod = await Pod.start({
      redis: Object.assign(new URL(server.url), { username: USER, password: PASSWORD }).href,
      keyPrefix: 'other',
    });
    expect((await pod.ask()).decidedBy).toBe('local');
    expect(await admin.keys('*')).toEqual([]);
  });

  it('keeps its connection when its password changes, and is unavailable after the connection ends', async () => {
    await using pod = await startPod();
    await pod.ask();
    await admin.call('ACL', 'SETUSER', USER, 'resetpass', '>another');
    await admin.call('CLIENT', 'KILL', 'USER', USER);
    await delay(300);
    const answers = await arrivals(pod, 1, 150);
    expect(answers.filter(({ decision }) => decision.decidedBy !== 'local')).toEqual([]);
    await grant(RIGHTS);
    const recoveryMs = await pod.recovered();
    expect(pod.app.logs.text).not.toContain(PASSWORD);
    await pod.conclude('password changed', { answers: timesOf(answers), recoveryMs });
  });

  it('is unavailable after it is deleted, until it is there again', async () => {
    await using pod = await startPod();
    await pod.ask();
    await admin.call('ACL', 'DELUSER', USER);
    await delay(100);
    const answers = await arrivals(pod, 1, 150);
    expect(answers.filter(({ decision }) => decision.decidedBy !== 'local')).toEqual([]);
    await grant(RIGHTS);
    const recoveryMs = await pod.recovered();
    await pod.conclude('user deleted', { answers: timesOf(answers), recoveryMs });
  });
});
