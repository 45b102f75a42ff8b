import type { Server } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Outcome, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { ThrottlerGuard, ThrottlerModule } from 'nestjs-floodgate/throttler';
import { GrpcApp } from '../contexts/support/grpc-app.js';
import { MessageApp } from '../contexts/support/message-app.js';
import { until } from '../support/faults/until.js';
import { PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { http2Request, resetBeforeAccept } from './support/recorded-bytes.js';
import { CountedConnections } from './transports/connections.js';
import { startHttp2 } from './transports/http2.js';

jest.setTimeout(60_000);

const CLIENTS = 200;
const LIMIT_MS = 20_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let entered = 0;
let endings: Outcome[] = [];
beforeEach(() => {
  [entered, endings] = [0, []];
});

@Controller()
class Plain {
  @Get()
  get(): string {
    entered++;
    return 'done';
  }

  @MessagePattern('plain')
  message(): string {
    entered++;
    return 'done';
  }

  @GrpcMethod('Rides', 'Quote')
  quote(): object {
    entered++;
    return { cents: 1 };
  }
}

@Controller()
class Counted {
  @Get()
  @RateLimit({
    name: 'counted',
    algorithm: 'fixed-window',
    limit: 1_000,
    window: '1h',
    countIf: (outcome) => endings.push(outcome) > 0,
  })
  get(): string {
    entered++;
    return 'done';
  }
}

const BLOCKING: RateLimitModuleOptions = { blockList: ['127.0.0.0/8', '::1'] };

/** Waits until the server has seen all of the reset connections close. */
async function resetAll(server: Pick<Server, 'on'>, port: number, bytes: string | Buffer): Promise<void> {
  const connections = new CountedConnections(server);
  resetBeforeAccept(port, CLIENTS, bytes);
  await until('all connections have closed', LIMIT_MS, () => connections.closed === CLIENTS);
}

const http1 = PLATFORMS.map((platform) => ({
  name: `HTTP/1.1 on ${platform}`,
  open: (metadata: object) => start(platform, metadata),
  bytes: async (): Promise<string | Buffer> => REQUEST,
}));
const http2 = {
  name: 'HTTP/2 on Fastify',
  open: startHttp2,
  bytes: (): Promise<Buffer> => http2Request({ ':path': '/' }),
};

describe.each([...http1, http2])(
  'over $name, a client that resets its connection before an address could be read',
  (kind) => {
    it('reaches no handler past a block list', async () => {
      await using app = await kind.open({ imports: [RateLimitModule.forRoot(BLOCKING)], controllers: [Plain] });
      await resetAll(app.app.getHttpServer() as Server, app.port, await kind.bytes());
      expect(entered).toBe(0);
      expect(app.logs.of('error')).toEqual([]);
    });

    it('reaches no limited handler past an allow list, is not charged, and has no ending', async () => {
      const store = new StillStore();
      const imports = [RateLimitModule.forRoot({ store, allowList: ['192.0.2.1'] })];
      await using app = await kind.open({ imports, controllers: [Counted] });
      await resetAll(app.app.getHttpServer() as Server, app.port, await kind.bytes());
      expect([entered, store.asked, endings]).toEqual([0, [], []]);
    });
  },
);

describe.each(PLATFORMS)('over %s, nestjs-floodgate/throttler', (platform) => {
  it('has one bucket for a client, whether it resets its connections or not', async () => {
    const limit = 5;
    await using app = await start(platform, {
      imports: [ThrottlerModule.forRoot([{ limit, ttl: 3_600_000 }])],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
      controllers: [Plain],
    });
    for (let i = 0; i < limit; i++) expect((await app.send('/')).status).toBe(200);
    await resetAll(app.app.getHttpServer() as Server, app.port, REQUEST);
    expect(entered).toBe(limit);
    expect((await app.send('/')).status).toBe(429);
  });
});

describe('a client that resets its connection before an address could be read reaches no handler past a block list', () => {
  const module = { imports: [RateLimitModule.forRoot(BLOCKING)], controllers: [Plain] };

  it('over TCP', async () => {
    await using app = await MessageApp.start(module);
    const packet = JSON.stringify({ pattern: 'plain', data: {}, id: '1' });
    expect(await app.client.send('plain')).toMatchObject({ error: { statusCode: 403 } });
    await resetAll(app.app.unwrap<Server>(), app.port, `${packet.length}#${packet}`);
    expect(entered).toBe(0);
  });

  it('over gRPC', async () => {
    await using app = await GrpcApp.start(module);
    const headers = { 'content-type': 'application/grpc', te: 'trailers' };
    const message = Buffer.from([0, 0, 0, 0, 2, 8, 2]); // uncompressed, 2 bytes: { km: 2 }
    const bytes = await http2Request({ ':method': 'POST', ':path': '/rides.Rides/Quote', ...headers }, message);
    const port = Number(app.url.split(':').at(-1));
    resetBeforeAccept(port, CLIENTS, bytes);
    // A call of a client that stays comes after them, on a connection that was accepted after theirs.
    expect((await app.client.ask('Quote')).error?.code).toBe(7); // PERMISSION_DENIED
    expect(entered).toBe(0);
  });
});
