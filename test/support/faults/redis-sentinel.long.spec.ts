import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { BreakableServer } from './breakable-server.js';
import { RedisSentinel } from './redis-sentinel.js';
import { until } from './until.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

let sentinel: RedisSentinel;
let client: Redis;

beforeAll(async () => {
  sentinel = await RedisSentinel.start();
});

beforeEach(() => {
  client = new Redis({
    sentinels: sentinel.addresses,
    name: sentinel.name,
    retryStrategy: () => 20,
    // Without it the client waits until the stopped master resumes.
    commandTimeout: 500,
    socketTimeout: 300,
    disconnectTimeout: 50,
  });
  client.on('error', () => undefined);
});

afterEach(() => client.disconnect());

afterAll(() => sentinel.stop());

/** Waits until a client of the Sentinels can write to this server. */
async function followed(to: BreakableServer): Promise<void> {
  await until('the client has followed', 5000, async () => {
    const value = `${performance.now()}`;
    await client.set('written', value);
    return (await to.client.get('written')) === value;
  });
}

it('has a master with a replica in sync, and Sentinels that tell which it is', async () => {
  const [master, replica] = [await sentinel.master(), await sentinel.replica()];
  expect(replica).not.toBe(master);
  await client.set('key', 'value');
  expect(await master.client.get('key')).toBe('value');
  expect(await master.client.wait(1, 1000)).toBe(1);
  expect(await replica.client.get('key')).toBe('value');
  expect(sentinel.watchers).toHaveLength(3);
});

it('hands over as planned, while the old master goes on taking writes until it is told', async () => {
  const [master, replica] = [await sentinel.master(), await sentinel.replica()];
  await sentinel.failover();
  expect(await sentinel.master()).toBe(replica);
  expect(await master.client.set('key', 'lost')).toBe('OK');
  await sentinel.settled();
  await expect(master.client.set('key', 'value')).rejects.toThrow('READONLY');
  expect(await replica.client.get('key')).not.toBe('lost');
  await followed(replica);
});

it.each<[string, (server: BreakableServer) => void | Promise<void>, (server: BreakableServer) => void | Promise<void>]>(
  [
    ['stopped', (server) => server.stop(), (server) => server.cont()],
    ['killed', (server) => server.kill(), (server) => server.restart()],
  ],
)('replaces a master that was %s, which is a replica once it is back', async (_, end, back) => {
  const [master, replica] = [await sentinel.master(), await sentinel.replica()];
  await client.set('key', 'kept');
  expect(await master.client.wait(1, 1000)).toBe(1);
  await end(master);
  await sentinel.settled();
  expect(await sentinel.master()).toBe(replica);
  expect(await replica.client.get('key')).toBe('kept');
  await followed(replica);
  await back(master);
  await sentinel.settled();
  expect(await sentinel.replica()).toBe(master);
  expect(await master.client.get('key')).toBe('kept');
});
