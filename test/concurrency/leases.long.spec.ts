import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisStore } from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { until } from '../support/faults/until.js';
import { Processes } from '../support/processes.js';
import { useRedis } from '../support/redis-fixture.js';
import { LEASE_MS, POLICY } from './support/lease-policy.js';
import type { procedures } from './workers/leases.js';

const PODS = 8;
const CLIENTS = 3;
const LONG_MS = 3_000; // longer than a lease
const KEY = 'rl:{global:work}:app:work:cc:2000000';

const redis = useRedis();
let pods: Processes<typeof procedures>[];

beforeAll(async () => {
  const script = new URL('workers/leases.ts', import.meta.url);
  pods = await Promise.all(Array.from({ length: PODS }, () => Processes.start<typeof procedures>(script, 1)));
});

afterAll(async () => {
  await Promise.all(pods.map((pod) => pod.stop()));
});

async function free(): Promise<number> {
  const verdict = await new RedisStore(redis.client).consume([{ key: KEY, algorithm: algorithmOf(POLICY), cost: 0 }]);
  return verdict.charges[0]!.remaining;
}

it('8 processes of which 3 are killed run at most 5 requests at once, and the dead free theirs', async () => {
  const urls = await Promise.all(
    pods.map(async (pod, i) => (await pod.all('open', () => ({ url: redis.server.url, name: `pod-${i}` })))[0]!),
  );
  const ends = performance.now() + 9_000;
  const statuses = new Map<number, number>();
  const killed = new Set<number>();
  // A busy machine takes longer for as many requests.
  const goesOn = (): boolean => {
    const late = performance.now() - ends;
    return late < 0 || (late < 20_000 && (statuses.get(200) ?? 0) <= 100);
  };
  const client = async (pod: number, seed: number): Promise<void> => {
    for (let i = 0; goesOn() && !killed.has(pod); i++) {
      // Every tenth request of a client outlives its lease.
      const ms = (i + seed) % 10 === 0 ? LONG_MS : ((i * 7 + seed * 13) % 40) + 1;
      try {
        const { status } = await fetch(`${urls[pod]}/work?ms=${ms}`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 429) await delay(5);
      } catch (error) {
        if (!killed.has(pod)) throw error;
      }
    }
  };
  const clients = urls.flatMap((_, pod) => Array.from({ length: CLIENTS }, (_each, i) => client(pod, pod + i)));
  for (const pod of [0, 3, 6]) {
    await delay(2_000);
    killed.add(pod);
    await pods[pod]!.stop();
    await redis.client.hdel('running', `pod-${pod}`); // its leases last, its handlers do not
  }
  await Promise.all(clients);

  expect(Number(await redis.client.get('peak'))).toBe(5);
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 429]);
  expect(statuses.get(200)).toBeGreaterThan(100);
  await until('all free', LEASE_MS + 1_000, async () => (await free()) === 5);

  // Requests that are running when their process dies.
  const last = Array.from({ length: 3 }, () => fetch(`${urls[7]}/work?ms=60000`).catch(() => undefined));
  await until('three run', 5_000, async () => (await free()) === 2);
  await delay(LEASE_MS * 1.5);
  expect(await free()).toBe(2); // renewed
  await pods[7]!.stop();
  expect(await free()).toBe(2);
  await until('the dead have freed theirs', LEASE_MS + 500, async () => (await free()) === 5);
  await Promise.all(last);
});
