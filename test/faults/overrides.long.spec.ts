import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { type Policy, type RateLimitModuleOptions, RateLimitOverrides } from 'nestjs-floodgate';
import { callsOf } from '../support/faults/by-node.js';
import { useOneRedis } from '../support/faults/one-redis.js';
import { Pod } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';
import { Processes } from '../support/processes.js';
import type { OverriddenPod } from './workers/overridden.js';

jest.setTimeout(180_000); // it is real time, and the machine may be busy

const LIMIT_MS = 20_000;
const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ADA = { kind: 'user', value: 'ada' };
const TARGET = { policy: 'api', identity: ADA };
const PARTS = ['records', 'versions', 'changes', 'version'];

const on = useOneRedis();

/** A pod in which Redis decides by a long deadline, except where it is away. */
const boot = (options: Partial<RateLimitModuleOptions> = {}): Promise<Pod> =>
  on.start({ policies: { api: API }, deadline: 10_000, ...options });
const overridesOf = (pod: Pod): RateLimitOverrides => pod.app.app.get(RateLimitOverrides);
const limitOf = async (pod: Pod): Promise<number> => (await pod.limiter.peek('api', ADA)).policies[0]!.limit;
const warningsOf = (pod: Pod): string[] => pod.app.logs.of('warn').filter((line) => line.includes('overrides'));

/** Waits until all pods have the limit. */
async function obeyed(pods: readonly Pod[], limit: number): Promise<void> {
  await Promise.all(
    pods.map((pod) => until(`the limit is ${limit}`, LIMIT_MS, async () => (await limitOf(pod)) === limit)),
  );
}

beforeEach(async () => void (await on.admin.config('RESETSTAT')));

it('is obeyed by the process that sets it at once, and by every other one within a second', async () => {
  await using pods = await Processes.start<OverriddenPod>(new URL('workers/overridden.ts', import.meta.url), 4);
  await pods.all('boot', () => on.server.url);
  const tookMs: number[] = [];
  for (let round = 0; round < 8; round++) {
    const obeyedAt = await pods.all('obey', (i) => ({ capacity: 10 + round, sets: i === round % 4 }));
    tookMs.push(...obeyedAt.map((at) => at - obeyedAt[round % 4]!));
  }
  // The median: a busy machine delays some of them.
  expect(tookMs.toSorted((a, b) => a - b)[16]).toBeLessThan(1000);
});

it('ends by itself on every pod, without a change', async () => {
  const [one, two] = [await boot(), await boot()];
  const { version, expiresAtMs } = await overridesOf(one).set(TARGET, { capacity: 9 }, { expiresIn: '2s' });
  expect(await limitOf(one)).toBe(9);
  await obeyed([two], 9);
  await obeyed([one, two], 3);
  const [seconds, microseconds] = await on.admin.time();
  expect(Number(seconds) * 1000 + Number(microseconds) / 1000 - expiresAtMs!).toBeGreaterThan(-100);
  expect(await on.admin.get('rl:{overrides}:version')).toBe(String(version));
  expect(await overridesOf(two).get(TARGET)).toBeUndefined();
  expect((await overridesOf(two).list()).items).toEqual([]);
  // The next change clears the record.
  await overridesOf(one).set({ policy: 'api', identity: 'user:bob' }, { capacity: 9 });
  expect(await on.admin.hkeys('rl:{overrides}:records')).toEqual(['user:bob\napi\n']);
});

it('stays in force while Redis is away, and for the fallback as well', async () => {
  const pod = await boot();
  await overridesOf(pod).set(TARGET, { capacity: 9 });
  await overridesOf(pod).set({ policy: 'api', identity: 'user:eve' }, { blocked: true });
  await on.server.kill();
  await until('Redis is away', LIMIT_MS, async () => (await pod.limiter.peek('api', ADA)).decidedBy === 'local');
  await delay(600); // some polls fail
  expect(await limitOf(pod)).toBe(9);
  expect(await pod.limiter.consume('api', { kind: 'user', value: 'eve' })).toMatchObject({
    allowed: false,
    decidedBy: 'override',
  });
  await expect(overridesOf(pod).set(TARGET, { capacity: 5 })).rejects.toThrow(/^RateLimitOverrides\.set: /);
  expect(await limitOf(pod)).toBe(9);

  // This Redis keeps nothing: with it the overrides have gone, on every pod.
  await on.server.restart();
  await obeyed([pod], 3);
  expect(warningsOf(pod)).toEqual([
    expect.stringMatching(
      /^All overrides were read again, and there are 2 less \(0 in force\): Redis may have lost some/,
    ),
  ]);
  await overridesOf(pod).set(TARGET, { capacity: 7 });
  expect(await limitOf(pod)).toBe(7);
});

it('says that it has none when it starts without Redis, and reads them when Redis comes', async () => {
  await overridesOf(await boot()).set(TARGET, { capacity: 9 });
  const dumps = await Promise.all(PARTS.map((part) => on.admin.dumpBuffer(`rl:{overrides}:${part}`)));
  await on.server.kill();
  const pod = await boot();
  expect(await limitOf(pod)).toBe(3);
  expect(pod.limiter.stats().overrides).toEqual({ count: 0, loaded: false });
  const warning = expect.stringMatching(/^No overrides are in force until Redis tells which there are: /);
  expect(warningsOf(pod)).toEqual([warning]);
  await on.server.restart();
  for (const [i, part] of PARTS.entries()) await on.admin.restore(`rl:{overrides}:${part}`, 0, dumps[i]!, 'REPLACE');
  await obeyed([pod], 9);
  expect(pod.limiter.stats().overrides).toEqual({ count: 1, loaded: true });
  expect(warningsOf(pod)).toEqual([warning]);
});

it('asks one question at a time while Redis hangs, obeys soon after, and asks nothing more once it is closed', async () => {
  const [one, two] = [await boot({ deadline: 200 }), await boot({ deadline: 200 })];
  await overridesOf(one).set(TARGET, { capacity: 9 });
  await obeyed([two], 9);
  const before = await callsOf(on.admin, 'evalsha');
  on.server.pause();
  await delay(4000);
  on.server.resume();
  await until('Redis answers', LIMIT_MS, async () => (await one.limiter.peek('api', ADA)).decidedBy === 'store');
  // Of each pod: the poll that hangs, those since, and probes on the new connection. 4 s of polls would be 40.
  expect((await callsOf(on.admin, 'evalsha')) - before).toBeLessThan(20);
  await overridesOf(one).set(TARGET, { capacity: 8 });
  await obeyed([two], 8);
  for (const pod of [one, two]) await pod.app.close();
  const closed = await callsOf(on.admin, 'evalsha');
  await delay(1000);
  expect(await callsOf(on.admin, 'evalsha')).toBe(closed);
});
