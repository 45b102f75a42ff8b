import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, PLATFORMS, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RateLimitRuntime } from '../../support/runtime.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

const LIMIT_MS = 10_000;
const HOUR_MS = 3_600_000;
/** The first request passes at once. All others wait longer than the test takes. */
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h', scope: 'app' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 100, window: '300d', scope: 'app' };
/** What the settlements of requests whose clients left wait for. */
const settling: (() => void)[] = [];
const SETTLED: Policy = {
  ...QUEUE,
  name: 'settled',
  countIf: ({ aborted }) => (aborted ? new Promise((resolve) => settling.push(() => resolve(false))) : true),
};
const ADA = { kind: 'user', value: 'ada' };

@Controller()
class Routes {
  @Get()
  @RateLimit(DAILY, QUEUE)
  get(): void {}

  @Get('settled')
  @RateLimit(SETTLED)
  settled(): void {}
}

const redis = useRedis();

describe.each(PLATFORMS)('over %s, the departure slots of clients that disconnect', (platform) => {
  describe.each(['in memory', 'in Redis'])('%s', (store) => {
    function open(): Promise<HttpApp> {
      const storeOptions = store === 'in Redis' ? { redis: redis.server.url } : {};
      return start(platform, {
        controllers: [Routes],
        imports: [RateLimitModule.forRoot({ ...storeOptions, identity: FROM_HEADERS, deadline: 10_000 })],
      });
    }

    /** The hours that the next request of the user would wait. */
    async function nextSlot({ app }: HttpApp, queue = QUEUE): Promise<number> {
      return Math.round((await app.get(RateLimiter).peek(queue, ADA)).delayMs / HOUR_MS);
    }

    /** Sends requests that wait, in this order, each on a connection of its own. */
    async function sendWaiting({ app }: HttpApp, count: number, path = '/'): Promise<Socket[]> {
      const { waitingRoom } = app.get(RateLimitRuntime);
      const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
      const sockets: Socket[] = [];
      for (let i = 0; i < count; i++) {
        const socket = createConnection(port, '127.0.0.1').on('error', () => undefined);
        await once(socket, 'connect');
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-User-Id: ada\r\n\r\n`);
        sockets.push(socket);
        const waiting = waitingRoom.size + 1;
        await until('the request waits', LIMIT_MS, () => waitingRoom.size === waiting);
      }
      return sockets;
    }

    it('are refunded when no later slot is taken, and else stay taken', async () => {
      await using app = await open();
      expect((await app.as('ada', '/')).status).toBe(200);
      const [first, second, third] = await sendWaiting(app, 3);
      expect(await nextSlot(app)).toBe(4);
      third!.destroy();
      await until('the third slot is free', LIMIT_MS, async () => (await nextSlot(app)) === 3);
      first!.destroy();
      await until(
        'the first request has left the waiting room',
        LIMIT_MS,
        () => app.app.get(RateLimitRuntime).waitingRoom.size === 1,
      );
      expect(await nextSlot(app)).toBe(3);
      second!.destroy();
      await until('the second slot is free', LIMIT_MS, async () => (await nextSlot(app)) === 2);
      // The charges of other policies stay. A disconnect must not make requests free.
      const daily = await app.app.get(RateLimiter).peek(DAILY, ADA);
      expect(daily.policies[0]!.remaining).toBe(96);
    });

    it('are refunded once where the charge is settled later, when another request has the slot', async () => {
      await using app = await open();
      expect((await app.as('ada', '/settled')).status).toBe(200);
      const [first] = await sendWaiting(app, 1, '/settled');
      expect(await nextSlot(app, SETTLED)).toBe(2);
      first!.destroy();
      await until('the slot is free', LIMIT_MS, async () => (await nextSlot(app, SETTLED)) === 1);
      await until('the settlement waits', LIMIT_MS, () => settling.length === 1);
      await sendWaiting(app, 1, '/settled');
      expect(await nextSlot(app, SETTLED)).toBe(2);
      settling.pop()!();
      await new Promise((resolve) => setTimeout(resolve, 200)); // for a refund that must not come
      expect(await nextSlot(app, SETTLED)).toBe(2);
    });

    it('are all refunded when a connection with many waiting requests closes', async () => {
      await using app = await open();
      const { waitingRoom } = app.app.get(RateLimitRuntime);
      expect((await app.as('ada', '/')).status).toBe(200);
      const { port } = (app.app.getHttpServer() as Server).address() as AddressInfo;
      const socket = createConnection(port, '127.0.0.1').on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: ada\r\n\r\n'.repeat(6));
      await until('all requests wait', LIMIT_MS, () => waitingRoom.size === 6);
      expect(await nextSlot(app)).toBe(7);
      socket.destroy();
      await until('all slots are free', LIMIT_MS, async () => (await nextSlot(app)) === 1);
    });
  });
});
