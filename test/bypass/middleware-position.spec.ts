import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { Body, Controller, Get, type INestApplication, Param, Post } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimitModule } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import {
  adapterOf,
  CapturedLogs,
  HttpApp,
  isOldFastify,
  limited,
  type Platform,
  PLATFORMS,
  start,
} from '../support/http-app.js';
import { exchange, statuses } from '../support/raw-client.js';
import { StillStore } from '../support/still-store.js';

const LIMIT: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };

@Controller()
class Echo {
  @Post('echo')
  echo(@Body() body: unknown): unknown {
    return body;
  }

  @Get('echo/:text')
  text(@Param('text') text: string): string {
    return text;
  }
}

/** Decides in a later turn, as a store in another process does. */
class LaterStore extends MemoryStore {
  override consume(charges: readonly Charge[]): Verdict {
    return new Promise((resolve) => setImmediate(() => resolve(super.consume(charges)))) as unknown as Verdict;
  }
}

type Done = (error?: Error) => void;
type Hook = (request: { readonly url: string }, response: unknown, done: Done) => void | Promise<void>;

/** Starts an application with a request hook that is set before or after the module's own. An adapter holds one hook. */
async function withHook(platform: Platform, hook: Hook, when: 'before' | 'after'): Promise<HttpApp> {
  const logger = new CapturedLogs();
  const adapter = adapterOf(platform);
  if (when === 'before') adapter.setOnRequestHook(hook);
  const limits = RateLimitModule.forRoot({ store: new StillStore(), middleware: [LIMIT] });
  class Root {}
  const module = { module: Root, imports: [limits], controllers: [Echo] };
  const app: INestApplication = await NestFactory.create(module, adapter, { logger, abortOnError: false });
  if (when === 'after') adapter.setOnRequestHook(hook);
  await app.listen(0, '127.0.0.1');
  return new HttpApp(app, logger, (app.getHttpServer() as { address(): { port: number } }).address().port);
}

describe.each(PLATFORMS)('the middleware over %s', (platform) => {
  it.each([
    ['a store that answers at once', StillStore],
    ['a store that answers later', LaterStore],
  ] as const)('leaves the body of a request readable: with %s', async (_, Store) => {
    await using app = await limited(platform, Echo, { store: new Store(), middleware: [LIMIT] });
    const body = JSON.stringify({ text: 'x'.repeat(80_000) });
    for (let i = 0; i < 5; i++) {
      const reply = await fetch(`http://127.0.0.1:${app.port}/echo`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
      expect(reply.status).toBe(i < 3 ? 201 : 429);
      const text = await reply.text();
      expect(text === body).toBe(i < 3);
    }
  });

  it('runs before the middleware of the application and before CORS', async () => {
    const seen: string[] = [];
    const configure = (app: INestApplication): void => {
      app.enableCors();
      app.use((request: { url: string }, _: unknown, next: () => void) => {
        seen.push(request.url);
        next();
      });
    };
    await using app = await limited(platform, Echo, { store: new StillStore(), middleware: [LIMIT] }, { configure });
    for (let i = 0; i < 5; i++) await app.send(`/${i}`, { headers: { Origin: 'http://a.test' } });
    expect(seen).toEqual(['/0', '/1', '/2']);
    expect((await app.send('/')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('does not see WebSocket upgrades that a gateway handles, as boot warns, nor what Node itself rejects', async () => {
    const store = new StillStore();
    const configure = (app: INestApplication): void => {
      const server = app.getHttpServer() as Server;
      server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    };
    await using app = await limited(platform, Echo, { store, middleware: [LIMIT] }, { configure });
    const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const malformed = 'GET echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (let i = 0; i < 5; i++) {
      expect(statuses(await exchange(app.port, upgrade))).toEqual([101]);
      expect(statuses(await exchange(app.port, malformed))).toEqual([400]);
    }
    expect(store.asked).toEqual([]);
    await using none = await limited(platform, Echo, { store, middleware: [LIMIT] });
    const warnings = [app, none].map(({ logs }) =>
      logs.of('warn').filter((text) => text.includes('upgrades go straight')),
    );
    expect(warnings.map(({ length }) => length)).toEqual([1, 0]);
  });

  describe.each(['before', 'after'] as const)('with a request hook that is set %s its own', (when) => {
    it('counts requests after the hook, which sees all of them', async () => {
      const seen: string[] = [];
      const hook: Hook = ({ url }, _, done) => {
        seen.push(url);
        setImmediate(done);
      };
      await using app = await withHook(platform, hook, when);
      expect(await app.crowd(5, '/nothing')).toEqual({ 404: 3, 429: 2 });
      expect(seen).toHaveLength(5);
    });

    it('does not count requests that the hook fails by callback, exception or rejection', async () => {
      let fail: Hook = () => undefined;
      await using app = await withHook(platform, (...args) => fail(...args), when);
      for (const failing of [
        (_, __, done) => done(new Error('no')),
        () => {
          throw new Error('no');
        },
        () => Promise.reject(new Error('no')),
      ] as Hook[]) {
        fail = failing;
        expect(await app.crowd(5, '/nothing')).toEqual({ 500: 5 });
      }
      fail = (_, __, done) => {
        done();
        done();
      };
      expect(await app.crowd(5, '/nothing')).toEqual({ 404: 3, 429: 2 });
    });
  });
});

describe('the middleware without Express and Fastify', () => {
  class Root {}
  const limits = () => RateLimitModule.forRoot({ store: new StillStore(), middleware: [LIMIT] });

  it('stops the boot over another adapter', async () => {
    class Other extends ExpressAdapter {
      override getType(): string {
        return 'bun';
      }
    }
    const boot = NestFactory.create({ module: Root, imports: [limits()] }, new Other(), {
      logger: false,
      abortOnError: false,
    }).then((app) => app.init());
    await expect(boot).rejects.toThrow(
      "RateLimitModule, middleware: works over Express and Fastify, got 'bun': leave it out, and limit in front of the application",
    );
  });
});

it('Fastify answers a malformed URL and an overlong parameter before the middleware, as documented', async () => {
  const store = new StillStore();
  await using app = await start('Fastify', {
    imports: [RateLimitModule.forRoot({ store, middleware: [LIMIT] })],
    controllers: [Echo],
  });
  for (let i = 0; i < 5; i++) {
    expect((await app.send('/echo%zz')).status).toBe(400);
    const unanswered = i < 3 ? 404 : 429;
    expect((await app.send(`/echo/${'x'.repeat(101)}`)).status).toBe(isOldFastify ? unanswered : 414);
  }
  expect(store.asked).toHaveLength(isOldFastify ? 5 : 0);
});
