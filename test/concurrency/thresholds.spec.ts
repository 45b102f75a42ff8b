import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import type { procedures } from './workers/thresholds.js';

const PODS = 3;
const EACH = 30;
const USERS = ['ada', 'bob', 'cleo', 'dora'];

let server: RedisServer;
let pods: Processes<typeof procedures>;
let urls: readonly string[];

beforeAll(async () => {
  server = await RedisServer.start();
  pods = await Processes.start(new URL('workers/thresholds.ts', import.meta.url), PODS);
  urls = await pods.all('open', () => server.url);
}, 60_000);

afterAll(async () => {
  await pods?.stop();
  await server?.stop();
});

async function told(): Promise<string[]> {
  const events = (await pods.all('told', () => undefined as never)).flat();
  return events.map(({ identity, policy, level, source }) => `${identity} ${policy} ${level} ${source}`).toSorted();
}

it('three processes tell of each level once for each user, however concurrent the requests', async () => {
  const targets = Array.from({ length: EACH }, () => USERS.flatMap((user) => urls.map((url) => [user, url] as const)));
  const replies = await Promise.all(
    targets.flat().map(([user, url]) => fetch(url, { headers: { 'X-User-Id': user } })),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(USERS.length * 40);
  const levels = ['bucket 0.5', 'monthly 0.25', 'monthly 0.5', 'monthly 0.8', 'monthly 1'];
  expect(await told()).toEqual(
    USERS.flatMap((user) => levels.map((level) => `user:${user} ${level} store`)).toSorted(),
  );
}, 30_000);

it('also where refunds and settlements move the level back and forth in all of them', async () => {
  await pods.all('settle', () => 'eve');
  const expected = ['0.25', '0.5', '0.8', '1'].map((level) => `user:eve tokens ${level} store`);
  expect(await told()).toEqual(expected);
}, 30_000);
