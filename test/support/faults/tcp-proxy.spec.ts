import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { RedisServer } from '../redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

jest.setTimeout(20_000); // it is real time, and the machine may be busy

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

/** Waits for an effect on the server that the proxy does not report. Jest's timeout limits the wait. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(2);
}

const counterIs = (count: number): Promise<void> => until(async () => (await direct.get('counter')) === `${count}`);

async function took(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

describe('that passes', () => {
  it('carries requests and answers of any size, in order, and counts connections', async () => {
    const [one, two] = [await connected(), await connected()];
    const large = 'x'.repeat(1_000_000);
    await one.set('large', large);
    expect(await two.get('large')).toBe(large);
    expect(await Promise.all(Array.from({ length: 100 }, () => one.incr('counter')))).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
    expect(proxy).toMatchObject({ accepted: 2, open: 2 });
    await two.quit();
    await until(() => proxy.open === 1);
    expect(proxy.accepted).toBe(2);
  });

  it('tells the client that the server has gone, and the server that the client has', async () => {
    const client = await connected();
    const id = await client.client('ID');
    expect(await direct.client('LIST')).toContain(`id=${id} `);
    client.disconnect();
    await until(async () => !((await direct.client('LIST')) as string).includes(`id=${id} `));

    await using other = await RedisServer.start();
    await using way = await TcpProxy.start(other.port);
    const lost = await connected({ port: way.port });
    await other.kill();
    await until(() => lost.status === 'end' && way.open === 0);
    const late = await connected({ port: way.port });
    expect(await outcome(late.ping())).toBe('failed');
    expect(way.accepted).toBe(2);
    await until(() => way.open === 0);
  });
});

it('delays each way, keeps the order when it stops to, and also delays new connections', async () => {
  const client = await connected();
  await client.ping();
  proxy.delay(40);
  expect(await took(() => client.ping())).toBeGreaterThanOrEqual(76);
  expect(await took(async () => (await connected()).ping())).toBeGreaterThanOrEqual(76);
  const slow = client.incr('counter');
  await delay(5); // so that it is under way
  await proxy.pass();
  expect(await Promise.all([slow, client.incr('counter'), client.incr('counter')])).toEqual([1, 2, 3]);
  expect(await took(() => client.ping())).toBeLessThan(78);
});

describe('that is a black hole', () => {
  it('accepts, forwards nothing and answers nothing', async () => {
    const client = await connected();
    proxy.blackHole();
    const fresh = await connected();
    expect(await Promise.all([client, fresh].map((one) => outcome(one.incr('counter'))))).toEqual([
      'nothing',
      'nothing',
    ]);
    expect(await direct.exists('counter')).toBe(0);
    expect(proxy.open).toBe(2);
  });

  it('lets go again, of all but the connections on which something was lost', async () => {
    const [lost, idle] = [await connected(), await connected()];
    proxy.blackHole();
    expect(await outcome(lost.incr('counter'))).toBe('nothing');
    await proxy.pass();
    expect(await outcome(lost.incr('counter'))).toBe('nothing');
    expect(await idle.incr('counter')).toBe(1);
    expect(await (await connected()).incr('counter')).toBe(2);
  });

  it('tells nobody of an end, and forgets a client that has left', async () => {
    await using other = await RedisServer.start();
    await using way = await TcpProxy.start(other.port);
    const client = await connected({ port: way.port });
    way.blackHole();
    await other.kill();
    expect(await outcome(client.ping())).toBe('nothing');
    expect(client.status).toBe('ready');
    client.disconnect();
    await until(() => way.open === 0);
  });
});

it('drops replies of what is executed, and those that follow on the connection', async () => {
  const client = await connected();
  proxy.dropReplies();
  const fresh = await connected();
  expect(await Promise.all([outcome(client.incr('counter')), outcome(fresh.incr('counter'))])).toEqual([
    'nothing',
    'nothing',
  ]);
  await counterIs(2);
  await proxy.pass();
  expect(await outcome(client.incr('counter'))).toBe('nothing');
  await counterIs(3);
  expect(await (await connected()).incr('counter')).toBe(4);
  for (const gone of [client, fresh]) gone.disconnect();
  await until(() => proxy.open === 1);
});

describe('that cuts', () => {
  it('closes the connection once the command was executed, and passes from then on', async () => {
    const client = await connected();
    proxy.cut();
    await expect(client.incr('counter')).rejects.toThrow('Connection is closed');
    expect(await direct.get('counter')).toBe('1');
    expect(proxy).toMatchObject({ cuts: 1, open: 0 });
    expect(await (await connected()).incr('counter')).toBe(2);
  });

  it('cuts as often as it is told, on any connection, only what contains the text', async () => {
    const all = [await connected(), await connected(), await connected()];
    proxy.cut({ containing: 'incr', times: 2 });
    await Promise.all(all.map((client) => client.set('other', 'command')));
    const outcomes: unknown[] = [];
    for (const client of all) outcomes.push(await outcome(client.incr('counter')));
    expect(outcomes).toEqual(['failed', 'failed', 3]);
    expect(proxy.cuts).toBe(2);
  });

  it('waits for the command itself, not for an answer to an earlier one', async () => {
    const client = await connected();
    server.pause();
    const before = client.set('before', 'cut');
    await delay(5); // so that the two are sent apart
    proxy.cut();
    const command = client.incr('counter');
    expect(await outcome(command)).toBe('nothing');
    server.resume();
    expect((await Promise.allSettled([before, command])).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await direct.mget('before', 'counter')).toEqual(['cut', '1']);
  });

  it('has a client that resends execute twice: the fault that it is there to make', async () => {
    const client = await connected({
      autoResendUnfulfilledCommands: true,
      retryStrategy: () => 1,
      enableOfflineQueue: true,
    });
    proxy.cut({ containing: 'incr' });
    expect(await client.incr('counter')).toBe(2);
  });
});

it('resets every connection and each new one, until it passes', async () => {
  const client = await connected();
  const errors: unknown[] = [];
  client.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code));
  const answer = outcome(client.blpop('nothing', 0));
  proxy.reset();
  expect(await answer).toBe('failed');
  await until(() => errors.length > 0);
  expect(errors).toEqual(['ECONNRESET']);
  const fresh = await connected({ enableReadyCheck: true }).catch(() => 'reset');
  expect(fresh).toBe('reset');
  expect(proxy).toMatchObject({ accepted: 2, open: 0 });
  await proxy.pass();
  expect(await (await connected()).ping()).toBe('PONG');
});

it('refuses, and listens again on its port', async () => {
  const client = await connected();
  const { port } = proxy;
  await proxy.refuse();
  await until(() => client.status === 'end');
  const errors: unknown[] = [];
  const refused = new Redis(proxy.url, { lazyConnect: true, retryStrategy: () => null });
  refused.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code));
  await expect(refused.connect()).rejects.toThrow('Connection is closed');
  expect(errors).toEqual(['ECONNREFUSED']);
  await proxy.refuse();
  await proxy.pass();
  expect(proxy.port).toBe(port);
  expect(await (await connected()).ping()).toBe('PONG');
});

it('stops any number of times, with connections open and bytes under way', async () => {
  const client = await connected();
  proxy.delay(10_000);
  const answer = client.ping();
  await delay(5);
  await proxy.stop();
  await expect(answer).rejects.toThrow('Connection is closed');
  await proxy.stop();
});
