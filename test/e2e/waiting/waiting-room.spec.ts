import type { Socket } from 'node:net';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';
import {
  ALL,
  CLIENT,
  dial,
  entered,
  requestFor,
  type Room,
  roomOf,
  serverOf,
  SlowStore,
  untilHolds,
  useWaitingRoutes,
  WaitingRoutes,
} from '../support/waiting-routes.js';

useWaitingRoutes();

describe('the places of the waiting room', () => {
  async function open(options: RateLimitModuleOptions = {}): Promise<{ app: HttpApp; room: Room; store: StillStore }> {
    const store = new StillStore();
    const app = await limited('Express', WaitingRoutes, { identity: FROM_HEADERS, store, ...options });
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

  it('are reserved before the store is asked, so one client cannot take all of them meanwhile', async () => {
    const store = new SlowStore();
    await using app = await limited('Express', WaitingRoutes, {
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

  it.each(PLATFORMS)(
    'are all free when a client of a thousand pipelined requests leaves, with few listeners: %s',
    async (platform) => {
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
    },
  );
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
