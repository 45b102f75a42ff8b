import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import type { Server } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { Controller, Get, type INestApplication, Param, Req, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Charge,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
  type Verdict,
} from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { nodeWarnings } from '../support/node-warnings.js';
import { StillStore } from '../support/still-store.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

/** The first request passes at once. All others wait longer than a test takes. */
const CLIENT: Policy = { name: 'client', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h' };
const TIGHT: Policy = { ...CLIENT, name: 'tight', capacity: 2 };
const ALL: Policy = { ...CLIENT, name: 'all', by: 'global' };
const QUICK: Policy = { ...CLIENT, name: 'quick', drain: '1/5ms' };

const LIMIT_MS = 10_000;

let entered: string[] = [];
let listeners: number[] = [];

interface Connected {
  readonly raw?: Connected;
  readonly socket: Socket;
}

@Controller()
class Routes {
  @Get('client/:id')
  @RateLimit(CLIENT)
  client(@Param('id') id: string): void {
    entered.push(id);
  }

  @Get('tight')
  @RateLimit(TIGHT)
  tight(): void {
    entered.push('tight');
  }

  @Get('all')
  @RateLimit(ALL)
  all(): void {
    entered.push('all');
  }

  @Get('quick')
  @RateLimit(QUICK)
  quick(@Req() request: Connected): void {
    listeners.push((request.raw ?? request).socket.listenerCount('close'));
  }

  @Get('beside')
  beside(@Req() request: Connected): void {
    listeners.push((request.raw ?? request).socket.listenerCount('close'));
  }
}

/** Waits until a sent request has had this effect. */
async function untilHolds(holds: () => boolean): Promise<void> {
  await until(String(holds), LIMIT_MS, holds);
}

interface Room {
  readonly size: number;
  readonly places: number;
}

function roomOf(app: INestApplication): Room {
  return app.get(RateLimitRuntime).waitingRoom;
}

function serverOf(app: INestApplication): Server {
  return app.getHttpServer() as Server;
}

/** Opens a connection that sends only the text that a test writes. */
async function dial(app: INestApplication): Promise<Socket> {
  const socket = createConnection((serverOf(app).address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

function requestFor(path: string, user: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nX-User-Id: ${user}\r\n\r\n`;
}

let warned: () => Promise<string[]>;

beforeEach(() => {
  [entered, listeners] = [[], []];
  warned = nodeWarnings();
});

afterEach(async () => {
  const warnings = await warned();
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
});

describe.each(PLATFORMS)('over %s, the places of the waiting room', (platform) => {
  async function open(options: RateLimitModuleOptions = {}): Promise<{ app: HttpApp; room: Room; store: StillStore }> {
    const store = new StillStore();
    const app = await limited(platform, Routes, { identity: FROM_HEADERS, store, ...options });
    return { app, room: roomOf(app.app), store };
  }

  it('are at most maxWaiting: further requests get 503 with Retry-After and are charged nothing', async () => {
    const { app, room, store } = await open({ maxWaiting: 3 });
    await using _ = app;
    expect((await app.as('ada', '/client/first')).status).toBe(200);
    for (const user of ['ada', 'ada', 'ada']) void app.as(user, '/client/waits');
    await untilHolds(() => room.size === 3);
    const asked = store.asked.length;
    for (const path of ['/client/x', '/all', '/tight']) {
      const { status, headers, body } = await app.as('bob', path);
      expect([status, headers['retry-after']]).toEqual([503, '1']);
      expect(headers).not.toHaveProperty('x-ratelimit-limit');
      expect(body).toEqual({
        statusCode: 503,
        error: 'rate_limit_unavailable',
        message: 'Too many requests are waiting',
        retry_after: 1,
      });
    }
    expect(store.asked).toHaveLength(asked);
    expect([room.size, room.places, entered]).toEqual([3, 3, ['first']]);
    expect((await app.send('/beside')).status).toBe(200);
  });

  it('are at most maxWaitingPerClient for one client on all routes, and stay free for other clients', async () => {
    const { app, room, store } = await open({ maxWaiting: 100, maxWaitingPerClient: 3 });
    await using _ = app;
    for (const path of ['/client/first', '/tight']) expect((await app.as('ada', path)).status).toBe(200);
    for (const path of ['/client/waits', '/client/waits', '/tight']) void app.as('ada', path);
    await untilHolds(() => room.size === 3);
    const asked = store.asked.length;
    for (const path of ['/client/x', '/tight']) expect((await app.as('ada', path)).status).toBe(503);
    expect(store.asked).toHaveLength(asked);
    expect((await app.as('bob', '/client/bob')).status).toBe(200);
    void app.as('bob', '/client/waits');
    await untilHolds(() => room.size === 4);
  });

  it("are bounded by maxWaiting alone for a policy by 'global'", async () => {
    const { app, room } = await open({ maxWaiting: 20, maxWaitingPerClient: 1 });
    await using _ = app;
    expect((await app.as('ada', '/all')).status).toBe(200);
    for (let i = 0; i < 20; i++) void app.as('ada', '/all');
    await untilHolds(() => room.size === 20);
    expect((await app.as('ada', '/all')).status).toBe(503);
  });

  it('are released by requests that pass at once, are rejected, or fail', async () => {
    const { app, room, store } = await open({ maxWaiting: 3, maxWaitingPerClient: 3, onStoreFailure: 'open' });
    await using _ = app;
    for (let i = 0; i < 10; i++) expect((await app.as(`user-${i}`, '/client/x')).status).toBe(200);
    expect(room.places).toBe(0);
    expect((await app.as('ada', '/tight')).status).toBe(200);
    for (let i = 0; i < 2; i++) void app.as('ada', '/tight');
    await untilHolds(() => room.size === 2);
    for (let i = 0; i < 10; i++) expect((await app.as('ada', '/tight')).status).toBe(429);
    expect(room.places).toBe(2);
    store.consume = () => {
      throw new Error('broken');
    };
    for (let i = 0; i < 10; i++) expect((await app.as('eve', '/client/open')).status).toBe(200);
    expect(room.places).toBe(2);
  });

  it('are reserved before the store is asked, so one client cannot take all of them meanwhile', async () => {
    const store = new SlowStore();
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      store,
      maxWaiting: 6,
      maxWaitingPerClient: 5,
    });
    const room = roomOf(app.app);
    const socket = await dial(app.app);
    socket.write(requestFor('/client/ada', 'ada').repeat(100));
    await untilHolds(() => store.asked >= 5);
    const reply = app.as('bob', '/client/bob');
    await untilHolds(() => store.asked === 6);
    store.answer();
    expect((await reply).status).toBe(200);
    expect(store.asked).toBe(6);
    socket.destroy();
    await untilHolds(() => room.places === 0);
  });
});

/** A `MemoryStore` that answers when the test calls `answer`. */
class SlowStore implements RateLimitStore {
  asked = 0;
  private readonly inner = new MemoryStore();
  private answers: (() => void)[] = [];

  consume(charges: readonly Charge[]): Promise<Verdict> {
    this.asked++;
    return new Promise((resolve) => this.answers.push(() => resolve(this.inner.consume(charges))));
  }

  answer(): void {
    for (const answer of this.answers.splice(0)) answer();
  }

  reset(): void {}
}

describe.each(PLATFORMS)('over %s, a client that disconnects', (platform) => {
  it('stops waiting: its place is free, its handler does not run, and the others wait on', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new StillStore() });
    const room = roomOf(app.app);
    expect((await app.as('ada', '/client/first')).status).toBe(200);
    const [stays, leaves] = [await dial(app.app), await dial(app.app)];
    stays.write(requestFor('/client/stays', 'ada'));
    leaves.write(requestFor('/client/leaves', 'ada'));
    await untilHolds(() => room.size === 2);
    leaves.destroy();
    await untilHolds(() => room.size === 1);
    await untilHolds(() => room.places === 1);
    stays.end(); // the client has half closed, and still reads
    await untilHolds(() => room.size === 0);
    expect(entered).toEqual(['first']);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('while the store is asked does not begin to wait', async () => {
    const store = new SlowStore();
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store });
    const [room, server] = [roomOf(app.app), serverOf(app.app)];
    const sockets: Socket[] = [];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const client = await dial(app.app);
    client.write(requestFor('/client/a', 'ada') + requestFor('/client/b', 'ada') + requestFor('/client/c', 'ada'));
    await untilHolds(() => store.asked === 3);
    client.destroy();
    await untilHolds(() => sockets.every(({ closed }) => closed));
    store.answer();
    await untilHolds(() => room.places === 0);
    expect(room.size).toBe(0);
    expect(entered).toEqual(['a']); // the first request did not have to wait
  });

  it('with a thousand pipelined requests leaves no place taken and adds few listeners', async () => {
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      store: new StillStore(),
      maxWaitingPerClient: 500,
    });
    const [room, server] = [roomOf(app.app), serverOf(app.app)];
    const sockets: Socket[] = [];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    expect((await app.as('ada', '/client/first')).status).toBe(200);
    const client = await dial(app.app);
    const idle = sockets.at(-1)!.listenerCount('close');
    client.write(requestFor('/client/waits', 'ada').repeat(1_000));
    await untilHolds(() => room.size === 500);
    expect(sockets.at(-1)!.listenerCount('close')).toBeLessThan(idle + 10);
    client.destroy();
    await untilHolds(() => room.size === 0 && room.places === 0);
    expect(entered).toEqual(['first']);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('together with hundreds of others leaves no place taken, and the next clients wait as before', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new MemoryStore() });
    const room = roomOf(app.app);
    expect((await app.as('storm', '/all')).status).toBe(200);
    for (let round = 0; round < 2; round++) {
      const clients = await Promise.all(Array.from({ length: 250 }, () => dial(app.app)));
      for (const client of clients) client.write(requestFor('/all', 'storm'));
      await untilHolds(() => room.size === 250);
      for (const [i, client] of clients.entries()) {
        if (i % 2 === 0) client.resetAndDestroy();
        else client.destroy();
      }
      await untilHolds(() => room.size === 0 && room.places === 0);
    }
    expect(entered).toEqual(['all']);
    const before = performance.now();
    expect(await app.crowd(5, '/quick')).toEqual({ 200: 5 });
    expect(performance.now() - before).toBeGreaterThan(4 * 5 - 1);
    expect([room.size, room.places]).toEqual([0, 0]);
  });
});

describe.each(PLATFORMS)('over %s, a connection that stays open', (platform) => {
  it('keeps no listener of requests that waited and passed', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new MemoryStore() });
    const room = roomOf(app.app);
    const client = await dial(app.app);
    client.resume();
    client.write(requestFor('/beside', 'ada'));
    await untilHolds(() => listeners.length === 1);
    for (let round = 1; round <= 3; round++) {
      client.write(requestFor('/quick', 'ada').repeat(50));
      await untilHolds(() => listeners.length === 1 + round * 50);
    }
    await untilHolds(() => room.places === 0);
    client.write(requestFor('/beside', 'ada'));
    await untilHolds(() => listeners.length === 152);
    expect([room.size, listeners[151]]).toEqual([0, listeners[0]]);
    client.destroy();
  });
});

describe('an HTTP/2 client that cancels one of its streams', () => {
  it('frees the place of that stream, and waits on with the others', async () => {
    const imports = [RateLimitModule.forRoot({ identity: FROM_HEADERS, store: new StillStore() })];
    class Root {}
    const app = await NestFactory.create(
      { module: Root, imports, controllers: [Routes] },
      new FastifyAdapter({ http2: true } as never),
      { logger: false },
    );
    await app.listen(0, '127.0.0.1');
    const room = roomOf(app);
    const session: ClientHttp2Session = connect(await app.getUrl());
    try {
      const send = () => session.request({ ':path': '/client/x', 'x-user-id': 'ada' }).on('error', () => {});
      await once(send(), 'response');
      const streams = [send(), send(), send()];
      await untilHolds(() => room.size === 3);
      streams[1]!.close(8); // CANCEL
      await untilHolds(() => room.size === 2 && room.places === 2);
      session.destroy();
      await untilHolds(() => room.size === 0 && room.places === 0);
      expect(entered).toEqual(['x']);
    } finally {
      session.destroy();
      await app.close();
    }
  });
});

describe('boot', () => {
  const FEW = 'can wait in one process';

  it.each<[string, RateLimitModuleOptions, Policy, string]>([
    ['for one client', {}, { ...CLIENT, capacity: 101 }, 'maxWaitingPerClient is 100'],
    ['for one client, by cost', {}, { ...CLIENT, capacity: 303, cost: 3 }, 'maxWaitingPerClient is 100'],
    ['for all clients', { maxWaiting: 999 }, ALL, 'maxWaiting is 999'],
  ])('warns of a bucket that holds more requests than may wait: %s', async (_, options, policy, reason) => {
    await using app = await limited('Express', one(policy), options);
    const warnings = app.logs.of('warn').filter((text) => text.includes(FEW));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('One.get');
    expect(warnings[0]).toContain(`policy '${policy.name}'`);
    expect(warnings[0]).toContain(reason);
  });

  it.each<[string, RateLimitModuleOptions, Policy]>([
    ['that fits', {}, { ...CLIENT, capacity: 100 }],
    ['that fits by cost', {}, { ...CLIENT, capacity: 300, cost: 3 }],
    ['that counts all identities together', {}, { ...ALL, capacity: 10_000 }],
    ['that delays no requests', {}, { algorithm: 'token-bucket', capacity: 100_000, refill: 10 }],
  ])('does not warn of a bucket %s', async (_, options, policy) => {
    await using app = await limited('Express', one(policy), options);
    expect(app.logs.of('warn').filter((text) => text.includes(FEW))).toEqual([]);
  });

  function one(policy: Policy): Type {
    @Controller()
    class One {
      @Get()
      @RateLimit(policy)
      get(): void {}
    }
    return One;
  }
});
