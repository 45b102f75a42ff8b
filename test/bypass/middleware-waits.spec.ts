import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, type RateLimitModuleOptions, type RateLimitStore } from 'nestjs-floodgate';
import { type HttpApp, limited, limitHeaders, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { RateLimitRuntime } from '../support/runtime.js';

const BUCKET: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 2, refill: '1/h' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h', by: 'global' };

@Controller()
class Routes {
  @Get('free')
  free(): void {}
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

describe.each(PLATFORMS)('the middleware over %s', (platform) => {
  async function open(
    policy: Policy,
    more: RateLimitModuleOptions = {},
  ): Promise<HttpApp & { readonly store: StillStore }> {
    const store = new StillStore();
    return Object.assign(await limited(platform, Routes, { store, middleware: [policy], ...more }), { store });
  }

  describe('with a store that fails', () => {
    const store: RateLimitStore = { consume: () => Promise.reject(new Error('disk is full')), reset: () => undefined };

    it.each([
      ['closed', [503, 503, 503]],
      ['open', [404, 404, 404]],
      ['local', [404, 404, 429]],
    ] as const)("answers by onStoreFailure '%s': %p", async (onStoreFailure, expected) => {
      await using app = await open(BUCKET, { store, onStoreFailure });
      const replies = [await app.send('/nothing'), await app.send('/nothing'), await app.send('/nothing')];
      expect(replies.map(({ status }) => status)).toEqual(expected);
      expect(limitHeaders(replies[0]!)).toHaveLength(onStoreFailure === 'local' ? 3 : 0);
      if (onStoreFailure !== 'closed') return;
      for (const { headers, body } of replies) {
        expect(headers['retry-after']).toBe('1');
        expect(body).toMatchObject({ statusCode: 503, error: 'rate_limit_unavailable', retry_after: 1 });
      }
    });
  });

  describe('with a leaky bucket', () => {
    it('answers 503 beyond maxWaiting, and frees the places of clients that disconnect', async () => {
      await using app = await open(QUEUE, { maxWaiting: 2 });
      const { waitingRoom } = app.app.get(RateLimitRuntime).parts;
      expect((await app.send('/nothing')).status).toBe(404);
      const clients = await Promise.all([1, 2].map(() => dial(app.port)));
      for (const client of clients) client.write('GET /free HTTP/1.1\r\nHost: x\r\n\r\n');
      while (waitingRoom.size < 2) await turn();
      const asked = app.store.asked.length;
      const full = await app.send('/free');
      expect([full.status, full.headers['retry-after'], app.store.asked.length]).toEqual([503, '1', asked]);
      for (const client of clients) client.destroy();
      while (waitingRoom.places > 0) await turn();
      expect([waitingRoom.size, app.logs.of('error')]).toEqual([0, []]);
    });
  });
});
