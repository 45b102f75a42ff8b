import type { Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RateLimitRuntime } from '../../support/runtime.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { dial, requestFor } from '../support/waiting-routes.js';

const LIMIT_MS = 10_000;
const HOUR_MS = 3_600_000;
/** The first request passes at once. All others wait longer than the test takes. */
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

describe.each(KINDS)('over $platform with $store, the departure slots of clients that disconnect', (kind) => {
  const open = () => limited(kind.platform, Routes, { identity: FROM_HEADERS, ...storeOf(kind, redis) });

  /** The hours that the next request of the user would wait. */
  async function nextSlot({ app }: HttpApp): Promise<number> {
    return Math.round((await app.get(RateLimiter).peek(QUEUE, ADA)).delayMs / HOUR_MS);
  }

  /** Sends requests that wait, in this order, each on a connection of its own. */
  async function sendWaiting({ app }: HttpApp, count: number): Promise<Socket[]> {
    const { waitingRoom } = app.get(RateLimitRuntime).parts;
    const sockets: Socket[] = [];
    for (let i = 0; i < count; i++) {
      const socket = await dial(app);
      socket.write(requestFor('/', 'ada'));
      sockets.push(socket);
      const waiting = waitingRoom.size + 1;
      await until('the request waits', LIMIT_MS, () => waitingRoom.size === waiting);
    }
    return sockets;
  }

  it('come back once no later slot is taken, whatever their order', async () => {
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
      () => app.app.get(RateLimitRuntime).parts.waitingRoom.size === 1,
    );
    expect(await nextSlot(app)).toBe(3);
    second!.destroy();
    await until('the first and the second slot are free', LIMIT_MS, async () => (await nextSlot(app)) === 1);
    // The charges of other policies stay. A disconnect must not make requests free.
    const daily = await app.app.get(RateLimiter).peek(DAILY, ADA);
    expect(daily.policies[0]!.remaining).toBe(96);
  });
});
