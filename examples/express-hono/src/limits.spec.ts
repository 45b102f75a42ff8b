import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { createAdaptorServer } from '@hono/node-server';
import { createLimiter, type RateLimiter } from 'floodgate';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { expressService, honoService } from './services.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** The limits run on a virtual clock: no test waits. */
async function limiterOn(store: VirtualStore): Promise<RateLimiter> {
  const limiter = await createLimiter({ store });
  await limiter.start();
  ends.push(() => limiter.close());
  return limiter;
}

/** Starts both services, and returns their addresses. */
async function start(expressStore: VirtualStore, honoStore: VirtualStore): Promise<[express: string, hono: string]> {
  const listen = async (server: Server): Promise<string> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/search`;
  };
  const { fetch } = honoService(await limiterOn(honoStore));
  return [
    await listen(createServer(expressService(await limiterOn(expressStore)))),
    await listen(createAdaptorServer({ fetch }) as Server),
  ];
}

/** How many requests pass, of as many to each address. */
async function admitted(urls: readonly string[], each: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < each; i++) {
    for (const url of urls) passed += Number((await fetch(url)).ok);
  }
  return passed;
}

test('an address searches 20 times at once in both services together, then 100 times an hour', async () => {
  const clock = new VirtualClock();
  const shared = new VirtualStore(clock); // it stands for Redis
  const urls = await start(shared, shared);
  assert.equal(await admitted(urls, 20), 20);
  clock.advance('1h');
  assert.equal(await admitted(urls, 20), 20);
  clock.advance('36s');
  assert.equal(await admitted(urls, 1), 1);
});

test('without Redis, each service counts for itself', async () => {
  const clock = new VirtualClock();
  const urls = await start(new VirtualStore(clock), new VirtualStore(clock));
  assert.equal(await admitted(urls, 30), 40);
});

test('a rejection says when to come back', async () => {
  const store = new VirtualStore(new VirtualClock());
  for (const url of await start(store, store)) {
    await admitted([url], 20);
    const { status, headers } = await fetch(url);
    assert.equal(status, 429);
    assert.equal(headers.get('Retry-After'), '36');
  }
});
