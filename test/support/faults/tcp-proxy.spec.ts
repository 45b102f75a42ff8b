import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { RedisServer } from '../redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const NOTHING_MS = 100;

let server: RedisServer;
let direct: Redis;
let proxy: TcpProxy;
let clients: Redis[];

beforeAll(async () => {
  server = await RedisServer.start();
  direct = new Redis(server.url);
});

beforeEach(async () => {
  await direct.flushall();
  proxy = await TcpProxy.start(server.port);
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.disconnect();
  await proxy.stop();
});

afterAll(async () => {
  direct.disconnect();
  await server.stop();
});

/** A client without retries: a lost connection fails the commands under way and stays lost. */
async function connected(options: RedisOptions = {}): Promise<Redis> {
  const client = new Redis({
    host: proxy.host,
    port: proxy.port,
    protocol: 2, // sends no HELLO, which would need an answer
    disconnectTimeout: 50,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    ...options,
  });
  client.on('error', () => undefined); // These tests lose connections on purpose.
  clients.push(client);
  await client.connect();
  return client;
}

function outcome(work: Promise<unknown>): Promise<unknown> {
  return Promise.race([work.catch(() => 'failed'), delay(NOTHING_MS, 'nothing')]);
}

/** Waits for an effect that the proxy does not report. Jest's timeout limits the wait. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(2);
}

it('carries requests and answers of any size, in order, with a delay and without', async () => {
  const [one, two] = [await connected(), await connected()];
  const large = 'x'.repeat(1_000_000);
  await one.set('large', large);
  expect(await two.get('large')).toBe(large);
  proxy.delay(40);
  const since = performance.now();
  const slow = one.incr('counter');
  await slow;
  expect(performance.now() - since).toBeGreaterThanOrEqual(76);
  const [late] = [one.incr('counter'), await delay(5)]; // so that it is under way
  await proxy.pass();
  expect(await Promise.all([late, one.incr('counter'), one.incr('counter')])).toEqual([2, 3, 4]);
  expect(proxy).toMatchObject({ accepted: 2, open: 2 });
  await two.quit();
  await until(() => proxy.open === 1);
});

it('is a black hole: forwards and answers nothing, and lets go of connections on which nothing was lost', async () => {
  const [lost, idle] = [await connected(), await connected()];
  proxy.blackHole();
  const fresh = await connected();
  for (const client of [lost, fresh]) expect(await outcome(client.incr('counter'))).toBe('nothing');
  expect(await direct.exists('counter')).toBe(0);
  await proxy.pass();
  expect(await outcome(lost.incr('counter'))).toBe('nothing');
  expect(await idle.incr('counter')).toBe(1);
  expect(await (await connected()).incr('counter')).toBe(2);
});

it('drops replies of what is executed, and those that follow on the connection', async () => {
  const client = await connected();
  proxy.dropReplies();
  expect(await outcome(client.incr('counter'))).toBe('nothing');
  await until(async () => (await direct.get('counter')) === '1');
  await proxy.pass();
  expect(await outcome(client.incr('counter'))).toBe('nothing');
  await until(async () => (await direct.get('counter')) === '2');
  expect(await (await connected()).incr('counter')).toBe(3);
});

it('cuts connections once their command was executed, as often as it is told, only what contains the text', async () => {
  const all = [await connected(), await connected(), await connected()];
  proxy.cut({ containing: 'incr', times: 2 });
  await Promise.all(all.map((client) => client.set('other', 'command')));
  const outcomes: unknown[] = [];
  for (const client of all) outcomes.push(await client.incr('counter').catch(() => 'failed'));
  expect(outcomes).toEqual(['failed', 'failed', 3]);
  expect(proxy.cuts).toBe(2);
  // Not at an answer to an earlier command.
  const client = await connected();
  server.pause();
  const before = client.set('before', 'cut');
  await delay(5); // so that the two are sent apart
  proxy.cut();
  const command = client.incr('counter');
  expect(await outcome(command)).toBe('nothing');
  server.resume();
  expect((await Promise.allSettled([before, command])).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await direct.mget('before', 'counter')).toEqual(['cut', '4']);
});

it('has a client that resends execute twice: the fault that it is there to make', async () => {
  const resends = { autoResendUnfulfilledCommands: true, retryStrategy: () => 1, enableOfflineQueue: true };
  const client = await connected(resends);
  proxy.cut({ containing: 'incr' });
  expect(await client.incr('counter')).toBe(2);
});

it('resets every connection and each new one, or refuses them, until it passes', async () => {
  const errors: unknown[] = [];
  const client = await connected();
  client.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code));
  proxy.reset();
  await until(() => errors.length > 0 && client.status === 'end');
  expect(errors).toEqual(['ECONNRESET']);
  expect(await connected({ enableReadyCheck: true }).catch(() => 'reset')).toBe('reset');
  await proxy.pass();
  const other = await connected();
  await proxy.refuse();
  await until(() => other.status === 'end');
  await expect(connected()).rejects.toThrow('Connection is closed');
  await proxy.pass();
  expect(await (await connected()).ping()).toBe('PONG');
});
