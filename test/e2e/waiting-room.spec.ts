import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import type { Server } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
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
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { nodeWarnings } from '../support/node-warnings.js';
import { StillStore } from '../support/still-store.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

/** The first goes at once; all others wait for as long as a test can take. */
const EACH: Policy = { name: 'each', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h' };
const TIGHT: Policy = { ...EACH, name: 'tight', capacity: 2 };
const ALL: Policy = { ...EACH, name: 'all', by: 'global' };
const QUICK: Policy = { ...EACH, name: 'quick', drain: '1/5ms' };

let entered: string[] = [];
let listeners: number[] = [];

interface Connected {
  readonly raw?: Connected;
  readonly socket: Socket;
}

@Controller()
class Routes {
  @Get('each/:id')
  @RateLimit(EACH)
  each(@Param('id') id: string): void {
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

/** Until something that was sent has had its effect. */
async function until(holds: () => boolean): Promise<void> {
  for (const since = performance.now(); !holds(); await delay(1)) {
    if (performance.now() - since > 10_000) throw new Error(`It never came about that ${String(holds)}`);
  }
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

/** A connection that says no more than it is told to. */
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

describe.each(PLATFORMS)('the places of those who wait over %s', (platform) => {
  async function open(options: RateLimitModuleOptions = {}): Promise<{ app: HttpApp; room: Room; store: StillStore }> {
    const store = new StillStore();
    const app = await limited(platform, Routes, { identity: FROM_HEADERS, store, ...options });
    return { app, room: roomOf(app.app), store };
  }

  it('are no more than maxWaiting: beyond, 503 with Retry-After and nothing is charged', async () => {
    const { app, room, store } = await open({ maxWaiting: 3 });
    await using _ = app;
    expect((await app.as('ada', '/each/first')).status).toBe(200);
    for (const user of ['ada', 'ada', 'ada']) void app.as(user, '/each/waits');
    await until(() => room.size === 3);
    const asked = store.asked.length;
    for (const path of ['/each/x', '/all', '/tight']) {
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

  it('are no more than maxWaitingPerClient for one client, over its routes, and free for the others', async () => {
    const { app, room, store } = await open({ maxWaiting: 100, maxWaitingPerClient: 3 });
    await using _ = app;
    for (const path of ['/each/first', '/tight']) expect((await app.as('ada', path)).status).toBe(200);
    for (const path of ['/each/waits', '/each/waits', '/tight']) void app.as('ada', path);
    await until(() => room.size === 3);
    const asked = store.asked.length;
    for (const path of ['/each/x', '/tight']) expect((await app.as('ada', path)).status).toBe(503);
    expect(store.asked).toHaveLength(asked);
    expect((await app.as('bob', '/each/bob')).status).toBe(200);
    void app.as('bob', '/each/waits');
    await until(() => room.size === 4);
  });

  it('of a policy that counts everybody together are bounded by the process alone', async () => {
    const { app, room } = await open({ maxWaiting: 20, maxWaitingPerClient: 1 });
    await using _ = app;
    expect((await app.as('ada', '/all')).status).toBe(200);
    for (let i = 0; i < 20; i++) void app.as('ada', '/all');
    await until(() => room.size === 20);
    expect((await app.as('ada', '/all')).status).toBe(503);
  });

  it('are given up by those that pass at once, are refused, or fail', async () => {
    const { app, room, store } = await open({ maxWaiting: 3, maxWaitingPerClient: 3, onStoreFailure: 'open' });
    await using _ = app;
    for (let i = 0; i < 10; i++) expect((await app.as(`user-${i}`, '/each/x')).status).toBe(200);
    expect(room.places).toBe(0);
    expect((await app.as('ada', '/tight')).status).toBe(200);
    for (let i = 0; i < 2; i++) void app.as('ada', '/tight');
    await until(() => room.size === 2);
    for (let i = 0; i < 10; i++) expect((await app.as('ada', '/tight')).status).toBe(429);
    expect(room.places).toBe(2);
    store.consume = () => {
      throw new Error('broken');
    };
    for (let i = 0; i < 10; i++) expect((await app.as('eve', '/each/open')).status).toBe(200);
    expect(room.places).toBe(2);
  });

  it('are taken before the store is asked: one client cannot have them all while it is', async () => {
    const store = new SlowStore();
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      store,
      maxWaiting: 6,
      maxWaitingPerClient: 5,
    });
    const room = roomOf(app.app);
    const socket = await dial(app.app);
    socket.write(requestFor('/each/ada', 'ada').repeat(100));
    await until(() => store.asked >= 5);
    const reply = app.as('bob', '/each/bob');
    await until(() => store.asked === 6);
    store.answer();
    expect((await reply).status).toBe(200);
    expect(store.asked).toBe(6);
    socket.destroy();
    await until(() => room.places === 0);
  });
});

/** A `MemoryStore` that answers when it is told to. */
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

describe.each(PLATFORMS)('a client that hangs up over %s', (platform) => {
  it('stops waiting: its timer and listeners are gone, its handler does not run, the others wait on', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new StillStore() });
    const room = roomOf(app.app);
    expect((await app.as('ada', '/each/first')).status).toBe(200);
    const [stays, leaves] = [await dial(app.app), await dial(app.app)];
    stays.write(requestFor('/each/stays', 'ada'));
    leaves.write(requestFor('/each/leaves', 'ada'));
    await until(() => room.size === 2);
    leaves.destroy();
    await until(() => room.size === 1);
    await until(() => room.places === 1);
    stays.end(); // half closed: it still reads
    await until(() => room.size === 0);
    expect(entered).toEqual(['first']);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('while the store is being asked does not begin to wait', async () => {
    const store = new SlowStore();
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store });
    const [room, server] = [roomOf(app.app), serverOf(app.app)];
    const sockets: Socket[] = [];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const client = await dial(app.app);
    client.write(requestFor('/each/a', 'ada') + requestFor('/each/b', 'ada') + requestFor('/each/c', 'ada'));
    await until(() => store.asked === 3);
    client.destroy();
    await until(() => sockets.every(({ closed }) => closed));
    store.answer();
    await until(() => room.places === 0);
    expect(room.size).toBe(0);
    expect(entered).toEqual(['a']); // the first had nothing to wait for
  });

  it('with a thousand pipelined requests leaves nothing behind', async () => {
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      store: new StillStore(),
      maxWaitingPerClient: 500,
    });
    const [room, server] = [roomOf(app.app), serverOf(app.app)];
    const sockets: Socket[] = [];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    expect((await app.as('ada', '/each/first')).status).toBe(200);
    const client = await dial(app.app);
    const idle = sockets.at(-1)!.listenerCount('close');
    client.write(requestFor('/each/waits', 'ada').repeat(1_000));
    await until(() => room.size === 500);
    expect(sockets.at(-1)!.listenerCount('close')).toBeLessThan(idle + 10);
    client.destroy();
    await until(() => room.size === 0 && room.places === 0);
    expect(entered).toEqual(['first']);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('in a storm of five hundred leaves nothing behind, and the next clients wait as ever', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new MemoryStore() });
    const room = roomOf(app.app);
    expect((await app.as('storm', '/all')).status).toBe(200);
    for (let round = 0; round < 2; round++) {
      const clients = await Promise.all(Array.from({ length: 250 }, () => dial(app.app)));
      for (const client of clients) client.write(requestFor('/all', 'storm'));
      await until(() => room.size === 250);
      for (const [i, client] of clients.entries()) {
        if (i % 2 === 0) client.resetAndDestroy();
        else client.destroy();
      }
      await until(() => room.size === 0 && room.places === 0);
    }
    expect(entered).toEqual(['all']);
    const before = performance.now();
    expect(await app.crowd(5, '/quick')).toEqual({ 200: 5 });
    expect(performance.now() - before).toBeGreaterThan(4 * 5 - 1);
    expect([room.size, room.places]).toEqual([0, 0]);
  });

  it('of those that have waited and gone through, nothing is left on a connection that stays', async () => {
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, store: new MemoryStore() });
    const room = roomOf(app.app);
    const client = await dial(app.app);
    client.resume();
    client.write(requestFor('/beside', 'ada'));
    await until(() => listeners.length === 1);
    for (let round = 1; round <= 3; round++) {
      client.write(requestFor('/quick', 'ada').repeat(50));
      await until(() => listeners.length === 1 + round * 50);
    }
    await until(() => room.places === 0);
    client.write(requestFor('/beside', 'ada'));
    await until(() => listeners.length === 152);
    expect([room.size, listeners[151]]).toEqual([0, listeners[0]]);
    client.destroy();
  });
});

describe('a client of HTTP/2 that cancels one of its streams', () => {
  it('stops waiting with that one, and waits on with the others', async () => {
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
      const send = () => session.request({ ':path': '/each/x', 'x-user-id': 'ada' }).on('error', () => {});
      await once(send(), 'response');
      const streams = [send(), send(), send()];
      await until(() => room.size === 3);
      streams[1]!.close(8); // CANCEL
      await until(() => room.size === 2 && room.places === 2);
      session.destroy();
      await until(() => room.size === 0 && room.places === 0);
      expect(entered).toEqual(['x']);
    } finally {
      session.destroy();
      await app.close();
    }
  });
});

describe('at boot', () => {
  const FEW = 'can wait in one process';

  it.each<[string, RateLimitModuleOptions, Policy, string]>([
    ['the places of a client', {}, { ...EACH, capacity: 101 }, 'maxWaitingPerClient is 100'],
    ['the places of a client, by cost', {}, { ...EACH, capacity: 303, cost: 3 }, 'maxWaitingPerClient is 100'],
    ['the places of everybody', { maxWaiting: 999 }, ALL, 'maxWaiting is 999'],
  ])('says that a bucket has more places than may be taken: %s', async (_, options, policy, reason) => {
    await using app = await limited('Express', one(policy), options);
    const said = app.logs.of('warn').filter((text) => text.includes(FEW));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('One.get');
    expect(said[0]).toContain(`policy '${policy.name}'`);
    expect(said[0]).toContain(reason);
  });

  it.each<[string, RateLimitModuleOptions, Policy]>([
    ['that fits', {}, { ...EACH, capacity: 100 }],
    ['that fits by cost', {}, { ...EACH, capacity: 300, cost: 3 }],
    ['that counts everybody together', {}, { ...ALL, capacity: 10_000 }],
    ['that is no queue', {}, { algorithm: 'token-bucket', capacity: 100_000, refill: 10 }],
  ])('says nothing of a bucket %s', async (_, options, policy) => {
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
