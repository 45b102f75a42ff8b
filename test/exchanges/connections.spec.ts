import type { Server } from 'node:http';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { Type } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type ConcurrencyPolicy, type LeakyBucketPolicy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { ask, DRIVERS, type SocketClient, SocketApp } from '../contexts/support/socket-app.js';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { stage } from './support/stage.js';
import { gatedMemory } from './support/stores.js';
import { Manager, type Socket } from 'socket.io-client';
import { CountedConnections } from './transports/connections.js';

jest.setTimeout(60_000);

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
/** Its leases outlive the test. */
const FIVE: ConcurrencyPolicy = { name: 'five', algorithm: 'concurrency', limit: 5, lease: '1h', scope: 'app' };
const MANY: ConcurrencyPolicy = { ...FIVE, name: 'many', limit: 1_000 };
const QUEUE: LeakyBucketPolicy = {
  name: 'queue',
  algorithm: 'leaky-bucket',
  capacity: 100,
  drain: '1/h',
  scope: 'app',
};

async function free(app: SocketApp, policy: ConcurrencyPolicy): Promise<number> {
  return (await app.http.app.get(RateLimiter).peek(policy, IP)).policies[0]!.remaining;
}

describe.each(DRIVERS)('over %s, clients that close while handleConnection is being decided', (driver) => {
  beforeEach(() => stage.reset(undefined));
  afterEach(() => stage.gates.store.open());

  const start = (gateway: Type): Promise<SocketApp> =>
    SocketApp.start(driver, gateway, { store: gatedMemory(), deadline: 10_000 });

  async function leaveWhileDeciding(app: SocketApp, count: number): Promise<void> {
    const connections = new CountedConnections(app.http.app.getHttpServer() as Server);
    const { store } = stage.gates;
    store.close();
    const clients: SocketClient[] = [];
    for (let i = 0; i < count; i++) clients.push(await app.connect());
    await until('all are being decided', LIMIT_MS, () => store.arrived === count);
    for (const client of clients) client.close();
    await until('the server has seen all leave', LIMIT_MS, () => connections.closed === count);
    store.open();
  }

  it('hold no lease afterwards: 300 of 300 places are free', async () => {
    @WebSocketGateway()
    class Doors {
      @RateLimit(MANY)
      handleConnection(): void {}
    }
    await using app = await start(Doors);
    await leaveWhileDeciding(app, 300);
    await until('all places are free', LIMIT_MS / 2, async () => (await free(app, MANY)) === 1_000).catch(() => {});
    expect([await free(app, MANY), app.http.app.get(RateLimitRuntime).leases.size]).toEqual([1_000, 0]);
  });

  it('do not lock their address out', async () => {
    @WebSocketGateway()
    class Doors {
      @RateLimit(FIVE)
      handleConnection(): void {}

      @SubscribeMessage('say')
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    await using app = await start(Doors);
    await leaveWhileDeciding(app, 5);
    await until('five places are free', LIMIT_MS / 2, async () => (await free(app, FIVE)) === 5).catch(() => {});
    expect(await ask(await app.connect(), 'say')).toEqual({ event: 'said', data: 0 });
  });

  it('have no place in the waiting room', async () => {
    @WebSocketGateway()
    class Doors {
      @RateLimit(QUEUE)
      handleConnection(): void {}
    }
    await using app = await start(Doors);
    await leaveWhileDeciding(app, 40);
    const { waitingRoom } = app.http.app.get(RateLimitRuntime);
    await until('no place is taken', LIMIT_MS / 2, () => waitingRoom.places === 0).catch(() => {});
    expect([waitingRoom.size, waitingRoom.places]).toEqual([0, 0]);
  });
});

describe('a place that a client of socket.io takes at the connection of a namespace', () => {
  @WebSocketGateway({ namespace: '/doors' })
  class Doors {
    @RateLimit(FIVE)
    handleConnection(client: Socket): void {
      client.emit('welcome');
    }
  }

  it('is free when the client leaves the namespace, and keeps the connection', async () => {
    await using app = await SocketApp.start('socket.io', Doors);
    const manager = new Manager(`http://127.0.0.1:${app.http.port}`, {
      transports: ['websocket'],
      reconnection: false,
      autoConnect: false,
    });
    const root = manager.socket('/');
    using _ = { [Symbol.dispose]: () => root.disconnect() };
    root.connect();
    await new Promise<void>((resolve) => root.once('connect', resolve));
    for (let i = 0; i < 12; i++) {
      const entered = manager.socket('/doors');
      const welcome = new Promise<string>((resolve) => {
        entered.once('welcome', () => resolve('welcome'));
        entered.once('exception', () => resolve('rejected'));
      });
      entered.connect();
      expect(await welcome).toBe('welcome');
      expect(await free(app, FIVE)).toBe(4);
      entered.disconnect();
      await until('its place is free', LIMIT_MS / 4, async () => (await free(app, FIVE)) === 5);
    }
    expect(root.connected).toBe(true);
  });
});
