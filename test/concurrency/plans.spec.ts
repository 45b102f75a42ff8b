import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import type { procedures } from './workers/plans.js';

const PODS = 3;
const EACH = 30;
/** The `cacheFor` of the pods. */
const CACHE_FOR_MS = 200;

let server: RedisServer;
let pods: Processes<typeof procedures>;
let urls: readonly string[];

beforeAll(async () => {
  server = await RedisServer.start();
  pods = await Processes.start(new URL('workers/plans.ts', import.meta.url), PODS);
  urls = await pods.all('open', () => server.url);
}, 60_000);

afterAll(async () => {
  await pods?.stop();
  await server?.stop();
});

/** How many requests of a user pass, of 30 to each pod at once, and the limits that the answers say. */
async function crowd(user: string): Promise<{ passed: number; limits: Set<string | null> }> {
  const targets = Array.from({ length: EACH }, () => urls).flat();
  const replies = await Promise.all(targets.map((url) => fetch(url, { headers: { 'X-User-Id': user } })));
  expect(replies.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  return {
    passed: replies.filter(({ status }) => status === 200).length,
    limits: new Set(replies.map(({ headers }) => headers.get('x-ratelimit-limit'))),
  };
}

it('three processes share the limit of a plan, and follow a change within cacheFor', async () => {
  await pods.all('have', () => ({ ada: 'pro', bob: 'enterprise' }));
  expect(await crowd('ada')).toEqual({ passed: 10, limits: new Set(['10']) });
  expect(await crowd('bob')).toEqual({ passed: 25, limits: new Set(['25']) });
  expect(await crowd('cleo')).toEqual({ passed: 2, limits: new Set(['2']) });

  await pods.all('have', () => ({ ada: 'enterprise', bob: 'pro' }));
  await delay(CACHE_FOR_MS);
  expect(await crowd('ada')).toEqual({ passed: 15, limits: new Set(['25']) }); // the window has 10 of them
  expect(await crowd('bob')).toEqual({ passed: 0, limits: new Set(['10']) });
}, 30_000);

it('a process whose database hangs goes on with the last known plan', async () => {
  await pods.all('have', () => ({ dora: 'pro' }));
  expect(await crowd('dora')).toEqual({ passed: 10, limits: new Set(['10']) });
  await pods.all('have', (pod) => (pod === 1 ? undefined : { dora: 'enterprise' }));
  await delay(CACHE_FOR_MS);
  const { passed, limits } = await crowd('dora');
  expect(limits).toEqual(new Set(['25', '10']));
  expect(passed).toBe(15); // two of the three have the new limit
}, 30_000);
