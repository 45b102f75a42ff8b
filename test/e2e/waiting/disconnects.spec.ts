import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describe, expect, it, jest } from '@jest/globals';
import { MemoryStore, RateLimitModule } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';
import {
  dial,
  entered,
  listeners,
  requestFor,
  roomOf,
  serverOf,
  SlowStore,
  untilHolds,
  useWaitingRoutes,
  WaitingRoutes,
} from '../support/waiting-routes.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

useWaitingRoutes();

describe.each(PLATFORMS)('over %s, a client that disconnects', (platform) => {
  it('stops waiting: its place is free, its handler does not run, and the others wait on', async () => {
    await using app = await limited(platform, WaitingRoutes, { identity: FROM_HEADERS, store: new StillStore() });
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
    await using app = await limited(platform, WaitingRoutes, { identity: FROM_HEADERS, store });
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
    await using app = await limited(platform, WaitingRoutes, {
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
});

it.each(PLATFORMS)(
  'over %s, a connection that stays open keeps no listener of requests that waited',
  async (platform) => {
    await using app = await limited(platform, WaitingRoutes, { identity: FROM_HEADERS, store: new MemoryStore() });
    const client = (await dial(app.app)).resume();
    client.write(requestFor('/beside', 'ada'));
    await untilHolds(() => listeners.length === 1);
    client.write(requestFor('/quick', 'ada').repeat(50));
    await untilHolds(() => listeners.length === 51 && roomOf(app.app).places === 0);
    client.write(requestFor('/beside', 'ada'));
    await untilHolds(() => listeners.length === 52);
    expect(listeners[51]).toBe(listeners[0]);
    client.destroy();
  },
);

describe('an HTTP/2 client that cancels one of its streams', () => {
  it('frees the place of that stream, and waits on with the others', async () => {
    const imports = [RateLimitModule.forRoot({ identity: FROM_HEADERS, store: new StillStore() })];
    class Root {}
    const app = await NestFactory.create(
      { module: Root, imports, controllers: [WaitingRoutes] },
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
