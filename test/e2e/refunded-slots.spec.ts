import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, PLATFORMS, start } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const LIMIT_MS = 10_000;
const HOUR_MS = 3_600_000;
/** The first goes at once; all others wait for as long as a test can take. */
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h', scope: 'app' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 100, window: '300d', scope: 'app' };
const ADA = { kind: 'user', value: 'ada' };

@Controller()
class Routes {
  @Get()
  @RateLimit(DAILY, QUEUE)
  get(): void {}
}

const redis = useRedis();

describe.each(PLATFORMS)('the departure slots of clients that hang up, over %s', (platform) => {
  describe.each(['in memory', 'in Redis'])('%s', (store) => {
    function open(): Promise<HttpApp> {
      const where = store === 'in Redis' ? { redis: redis.server.url } : {};
      return start(platform, {
        controllers: [Routes],
        imports: [RateLimitModule.forRoot({ ...where, identity: FROM_HEADERS })],
      });
    }

    /** Hours that the next one of hers would wait. */
    async function nextSlot({ app }: HttpApp): Promise<number> {
      return Math.round((await app.get(RateLimiter).peek(QUEUE, ADA)).delayMs / HOUR_MS);
    }

    /** Clients that wait on connections of their own, in this order. */
    async function waiters({ app }: HttpApp, count: number): Promise<Socket[]> {
      const { waitingRoom } = app.get(RateLimitRuntime);
      const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
      const sockets: Socket[] = [];
      for (let i = 0; i < count; i++) {
        const socket = createConnection(port, '127.0.0.1').on('error', () => undefined);
        await once(socket, 'connect');
        socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: ada\r\n\r\n');
        sockets.push(socket);
        const waiting = waitingRoom.size + 1;
        await until('it waits', LIMIT_MS, () => waitingRoom.size === waiting);
      }
      return sockets;
    }

    it('are free again while nobody stands behind them, and else stay taken', async () => {
      await using app = await open();
      expect((await app.as('ada', '/')).status).toBe(200);
      const [first, second, third] = await waiters(app, 3);
      expect(await nextSlot(app)).toBe(4);
      third!.destroy();
      await until('the last slot is free', LIMIT_MS, async () => (await nextSlot(app)) === 3);
      first!.destroy();
      await until('the first has left', LIMIT_MS, () => app.app.get(RateLimitRuntime).waitingRoom.size === 1);
      expect(await nextSlot(app)).toBe(3);
      second!.destroy();
      await until('the second slot is free', LIMIT_MS, async () => (await nextSlot(app)) === 2);
      // What it was charged otherwise stays: to hang up is no way to ask for nothing.
      const daily = await app.app.get(RateLimiter).peek(DAILY, ADA);
      expect(daily.policies[0]!.remaining).toBe(96);
    });

    it('are all free when one connection takes a crowd of them with it', async () => {
      await using app = await open();
      const { waitingRoom } = app.app.get(RateLimitRuntime);
      expect((await app.as('ada', '/')).status).toBe(200);
      const { port } = (app.app.getHttpServer() as Server).address() as AddressInfo;
      const socket = createConnection(port, '127.0.0.1').on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: ada\r\n\r\n'.repeat(6));
      await until('they wait', LIMIT_MS, () => waitingRoom.size === 6);
      expect(await nextSlot(app)).toBe(7);
      socket.destroy();
      await until('all slots are free', LIMIT_MS, async () => (await nextSlot(app)) === 1);
    });
  });
});
