import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer } from '../../tools/redis-server.js';

function connectTo(server: RedisServer): Redis {
  const client = new Redis(server.url, {
    retryStrategy: () => 10,
    maxRetriesPerRequest: null,
    disconnectTimeout: 50, // ioredis waits that long for the end of a lost connection, which delays Jest's exit.
  });
  client.on('error', () => undefined); // These tests lose connections on purpose.
  return client;
}

function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Rejects when something listens there. */
async function listenAndClose(port: number): Promise<void> {
  const listener = createServer().listen(port, '127.0.0.1');
  await once(listener, 'listening');
  listener.close();
  await once(listener, 'close');
}

describe('a started server', () => {
  let server: RedisServer;
  let client: Redis;

  beforeEach(async () => {
    server = await RedisServer.start();
    client = connectTo(server);
  });

  afterEach(async () => {
    client.disconnect();
    await server.stop();
  });

  it('keeps its data in a directory of its own, and removes it in the end', async () => {
    const [, directory = ''] = await client.config('GET', 'dir');
    expect(existsSync(directory)).toBe(true);
    await server.stop();
    expect(existsSync(directory)).toBe(false);
  });

  it('frees its port when stopped, even while paused', async () => {
    const { port, pid } = server;
    await expect(listenAndClose(port)).rejects.toThrow('EADDRINUSE');
    server.pause();
    await server.stop();
    expect(processExists(pid)).toBe(false);
    await expect(listenAndClose(port)).resolves.toBeUndefined();
    expect(() => server.pid).toThrow(`No Redis process runs on port ${port}`);
  });
});

describe('starting', () => {
  it('keeps its data over a crash with keepsData, until stop()', async () => {
    await using server = await RedisServer.start({ keepsData: true });
    const client = connectTo(server);
    const [, directory = ''] = await client.config('GET', 'dir');
    await client.set('key', 'value');
    await server.kill();
    await server.restart();
    expect(await client.get('key')).toBe('value');
    await server.stop();
    expect(existsSync(directory)).toBe(false);
    await server.restart();
    expect(await client.get('key')).toBeNull();
    client.disconnect();
  });

  it('takes another port when the one it chose is taken', async () => {
    await using first = await RedisServer.start();
    const choice = (first.port - 20_000) / 12_000 + 1e-9;
    const random = jest.spyOn(Math, 'random').mockReturnValueOnce(choice);
    await using second = await RedisServer.start();
    expect(random.mock.results[0]?.value).toBe(choice);
    expect(random.mock.calls.length).toBeGreaterThan(1);
    expect(second.port).not.toBe(first.port);
    random.mockRestore();
  });

  it('fails when the port it was given is taken', async () => {
    await using first = await RedisServer.start();
    await expect(RedisServer.start({ port: first.port })).rejects.toThrow('Address already in use');
  });

  it("fails with the server's message about a wrong argument", async () => {
    await expect(RedisServer.start({ args: ['--no-such-option', 'x'] })).rejects.toThrow('no-such-option');
  });
});
