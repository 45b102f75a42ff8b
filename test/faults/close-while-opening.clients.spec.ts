import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Cluster } from 'ioredis';
import { RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';

/** Shorter than the timeouts after which a client gives such a connection up by itself. */
const SOON_MS = 500;

/** Accepts connections, and answers nothing. */
let server: Server;
const open = new Set<Socket>();

beforeEach(async () => {
  server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  for (const socket of open) socket.destroy();
  server.close();
});

const REDIS: Readonly<Record<string, (port: number) => RateLimitModuleOptions['redis']>> = {
  'one server': (port) => `redis://127.0.0.1:${port}`,
  Sentinel: (port) => ({ sentinels: [{ host: '127.0.0.1', port }], name: 'limits' }),
  'a Cluster': (port) => new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true }),
};

async function made(options: RateLimitModuleOptions): Promise<INestApplication> {
  const module = await Test.createTestingModule({ imports: [RateLimitModule.forRoot(options)] }).compile();
  return module.createNestApplication({ logger: false });
}

describe.each(Object.entries(REDIS))('close() while init() connects to %s', (_, redisAt) => {
  it.each(['retry', 'required'] as const)('ends init() and all connections with connect: %s', async (connect) => {
    const app = await made({ redis: redisAt((server.address() as AddressInfo).port)!, connect });
    const connection = once(server, 'connection');
    let hasSettled = false;
    const init = app.init().finally(() => (hasSettled = true));
    await connection;
    await app.close();
    await new Promise(setImmediate);
    expect(hasSettled).toBe(true);
    await init;
    await until('the connections are closed', SOON_MS, () => open.size === 0);
  });

  it('opens nothing when it is closed before', async () => {
    const app = await made({ redis: redisAt((server.address() as AddressInfo).port)! });
    const init = app.init();
    await app.close();
    await init;
    await until('the connections are closed', SOON_MS, () => open.size === 0);
    expect(open.size).toBe(0);
  });
});
