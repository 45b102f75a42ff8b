import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Policy, RateLimitOverrides } from 'nestjs-floodgate';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { arrivals, expectLocal, timesOf } from '../support/faults/arrivals.js';
import { useOneRedis } from '../support/faults/one-redis.js';
import { ADA, type Pod } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 20_000;
/** The rights of the ACL line in docs/redis.md: the program's commands, and the commands that run it. */
const RIGHTS = 'evalsha eval time get mget exists set del llen lindex rpush ltrim expireat pexpire info'.split(' ');
/** Those that reservations that expire need, too, and overrides. */
const OF_RESERVATIONS = ['zcount', 'zadd', 'pttl', 'zrem', 'zrangebyscore'];
const OF_OVERRIDES = 'hget hmget hset hdel hlen zadd zrem zrangebyscore xadd xrange xrevrange'.split(' ');
const USER = 'floodgate';
const PASSWORD = 'secret-of-the-test';

/** A concurrency runs the commands of the log. */
const POLICIES: Readonly<Record<Exclude<Policy['algorithm'], 'concurrency'>, Policy>> = {
  'token-bucket': { name: 'tb', algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
  'leaky-bucket': { name: 'lb', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h' },
  'fixed-window': { name: 'fw', algorithm: 'fixed-window', limit: 10, window: '1h' },
  // Large enough to be stored as a string first, then as a list.
  'sliding-window-log': { name: 'swl', algorithm: 'sliding-window-log', limit: 500, window: '1h' },
  'sliding-window-counter': { name: 'swc', algorithm: 'sliding-window-counter', limit: 10, window: '1h' },
};

const on = useOneRedis();

beforeEach(async () => {
  await on.admin.script('FLUSH');
  await grant(RIGHTS);
  await on.admin.call('ACL', 'LOG', 'RESET');
});

function grant(rights: readonly string[]): Promise<unknown> {
  const granted = rights.map((right) => `+${right}`);
  return on.admin.call('ACL', 'SETUSER', USER, 'reset', 'on', `>${PASSWORD}`, '~rl:*', '-@all', ...granted);
}

/** A pod of the user in which Redis decides by a long deadline. */
function startPod(options: Partial<RateLimitModuleOptions> = {}): Promise<Pod> {
  const url = Object.assign(new URL(on.server.url), { username: USER, password: PASSWORD });
  return on.start({ redis: url.href, deadline: 10_000, ...options });
}

async function deciders(pod: Pod): Promise<string> {
  const told = new Set<string>();
  for (const policy of Object.values(POLICIES)) {
    const costs = policy.algorithm === 'sliding-window-log' ? [1, 200, 1, 0] : [1, 0, 10];
    for (const cost of costs) told.add((await pod.limiter.consume(policy, ADA, { cost })).decidedBy);
  }
  // A list whose old end has expired is trimmed.
  const brief: Policy = { name: 'brief', algorithm: 'sliding-window-log', limit: 500, window: '20ms' };
  await pod.limiter.consume(brief, ADA, { cost: 200 });
  await delay(25);
  told.add((await pod.limiter.consume(brief, ADA)).decidedBy);
  return [...told].join();
}

describe('a Redis user with the least rights', () => {
  it.each(['redis', 'app'] as const)('decides with every algorithm, and resets (clock: %s)', async (clock) => {
    const pod = await startPod({ clock });
    expect(await deciders(pod)).toBe('store');
    for (const policy of Object.values(POLICIES)) await pod.limiter.reset(policy, ADA);
    const left = (await on.admin.keys('rl:{user:ada}*')).filter((key) => !key.includes(':brief:'));
    expect(left).toEqual([]);
    expect(await on.admin.call('ACL', 'LOG')).toEqual([]);
    expect(pod.app.logs.of('warn')).toEqual([]);
  });

  // An older version did not need `get`: without it Redis decides nevertheless.
  it.each(RIGHTS.filter((right) => !['get', 'info', 'del', 'pexpire'].includes(right)))(
    'needs each of them: without %s Redis misses a decision, and the log names the missing right',
    async (right) => {
      // Redis knows the script, as after the first request of any pod.
      if (right !== 'eval') await deciders(await startPod());
      await on.admin.flushall();
      await grant(RIGHTS.filter((other) => other !== right));
      const pod = await startPod();
      expect(await deciders(pod)).toContain('local');
      expect(pod.app.logs.of('warn').join()).toMatch(
        right === 'evalsha'
          ? /NOPERM.*'evalsha'/
          : /The user executing the script can't run this command or subcommand|NOPERM/,
      );
      expect(pod.app.logs.text).not.toContain(PASSWORD);
    },
  );

  it('decides without the right to get, too, and may not write under another key prefix', async () => {
    await grant(RIGHTS.filter((right) => right !== 'get'));
    const pod = await startPod();
    expect(await deciders(pod)).toBe('store');
    expect(pod.app.logs.of('warn')).toEqual([]);
    await on.admin.flushall();
    const other = await startPod({ keyPrefix: 'other' });
    expect((await other.ask()).decidedBy).toBe('local');
    expect(await on.admin.keys('*')).toEqual([]);
  });

  it.each([undefined, 'zcount', 'zadd', 'pttl'])(
    'keeps the log of reservations that expire with the rights of docs/redis.md, and warns without them (%p)',
    async (missing) => {
      const monthly: Policy = { name: 'monthly', algorithm: 'fixed-window', limit: 10, window: '300d' };
      const entries = async (): Promise<number> => {
        const keys = await on.admin.keys('rl:{reservations-*');
        return (await Promise.all(keys.map((key) => on.admin.zcount(key, 0, '+inf')))).reduce(
          (sum, count) => sum + count,
          0,
        );
      };
      await grant([...RIGHTS, ...OF_RESERVATIONS.filter((right) => right !== missing)]);
      const pod = await startPod();
      const reservation = await pod.limiter.reserve(monthly, ADA, { cost: 5, expires: '1m', atExpiry: 'cancel' });
      const warnings = (): string => pod.app.logs.of('warn').join();
      await until('it is logged, or the log failed', LIMIT_MS, async () => (await entries()) > 0 || warnings() !== '');
      expect(await entries()).toBe(missing === undefined ? 1 : 0);
      expect(await reservation.settle(2)).toMatchObject({ settledBy: 'store', policies: [{ refunded: 3 }] });
      expect(await entries()).toBe(0);
      const warned = /^A reservation stays charged if this process dies: .*(?:can't run this command|NOPERM)/;
      expect(warnings()).toMatch(missing === undefined ? /^$/ : warned);
    },
  );

  it('needs more rights for overrides only when there is one', async () => {
    const policies = { tb: POLICIES['token-bucket'] };
    const target = { policy: 'tb', identity: ADA };
    const limitOf = async ({ limiter }: Pod): Promise<number> => (await limiter.peek('tb', ADA)).policies[0]!.limit;
    const pod = await startPod({ policies });
    const overrides = pod.app.app.get(RateLimitOverrides);
    await expect(overrides.set(target, { capacity: 9 })).rejects.toThrow(/can't run this command|NOPERM/);
    expect(pod.app.logs.of('warn')).toEqual([]);
    const other = await on.start({ policies, deadline: 10_000 });
    await other.app.app.get(RateLimitOverrides).set(target, { capacity: 9 });
    // Nest has one logger in a process: that of the last application.
    const warnings = (): string[] => other.app.logs.of('warn').filter((line) => line.includes('overrides'));
    await until('the log names the problem', LIMIT_MS, () => warnings().length > 0);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^The last known overrides stay in force \(0\) until Redis tells .*(?:can't run this command|NOPERM)/,
      ),
    ]);
    expect(await limitOf(pod)).toBe(10);

    await grant([...RIGHTS, ...OF_OVERRIDES]);
    await until('it obeys', LIMIT_MS, async () => (await limitOf(pod)) === 9);
    await on.admin.call('ACL', 'LOG', 'RESET');
    await overrides.set(target, { capacity: 8 });
    expect((await overrides.list()).items).toHaveLength(1);
    expect((await overrides.history(target)).items).toHaveLength(2);
    expect(await overrides.get(target)).toMatchObject({ change: { capacity: 8 } });
    expect(await overrides.remove(target)).toBe(true);
    expect(await on.admin.call('ACL', 'LOG')).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      'its password changes and its connection ends',
      async () => {
        await on.admin.call('ACL', 'SETUSER', USER, 'resetpass', '>another');
        await on.admin.call('CLIENT', 'KILL', 'USER', USER);
      },
    ],
    ['it is deleted', () => on.admin.call('ACL', 'DELUSER', USER)],
  ])('is unavailable after %s, until it may connect again', async (what, begin) => {
    const pod = await startPod({ deadline: 1_000 });
    await pod.recovered();
    await begin();
    await until('Redis is away', LIMIT_MS, async () => (await pod.ask()).decidedBy === 'local');
    const answers = await arrivals(pod, 100);
    expectLocal(answers, 1_000);
    await grant(RIGHTS);
    const recoveryMs = await pod.recovered();
    expect(pod.app.logs.text).not.toContain(PASSWORD);
    await pod.conclude(what, { answers: timesOf(answers), recoveryMs });
  });
});
