import type { Server } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { beforeEach, expect, it, jest } from '@jest/globals';
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
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const BLOCKING: RateLimitModuleOptions = { blockList: ['127.0.0.0/8', '::1'] };

let entered = 0;
let endings: Outcome[] = [];
beforeEach(() => {
  [entered, endings] = [0, []];
});

@Controller()
class Plain {
  @Get()
  @MessagePattern('plain')
  get(): string {
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
  get(): void {
    entered++;
  }
}

/** Waits until the server has seen all of the reset connections close. */
async function resetAll(server: Pick<Server, 'on'>, port: number, bytes: string | Buffer): Promise<void> {
  const connections = new CountedConnections(server);
  resetBeforeAccept(port, CLIENTS, bytes);
  await until('all connections have closed', 20_000, () => connections.closed === CLIENTS);
}

// Each client resets its connection before the server could read an address.
const HTTP = [
  ...PLATFORMS.map((platform) => ({
    name: `HTTP/1.1 on ${platform}`,
    open: (metadata: object) => start(platform, metadata),
    bytes: async (): Promise<string | Buffer> => REQUEST,
  })),
  { name: 'HTTP/2 on Fastify', open: startHttp2, bytes: () => http2Request({ ':path': '/' }) },
];

it.each(HTTP)(
  'over $name, a client without an address passes no list, is not charged, and has no ending',
  async (kind) => {
    await using blocking = await kind.open({ imports: [RateLimitModule.forRoot(BLOCKING)], controllers: [Plain] });
    await resetAll(blocking.app.getHttpServer() as Server, blocking.port, await kind.bytes());
    expect(entered).toBe(0);
    expect(blocking.logs.of('error')).toEqual([]);
    const store = new StillStore();
    const imports = [RateLimitModule.forRoot({ store, allowList: ['192.0.2.1'] })];
    await using allowing = await kind.open({ imports, controllers: [Counted] });
    await resetAll(allowing.app.getHttpServer() as Server, allowing.port, await kind.bytes());
    expect([entered, store.asked, endings]).toEqual([0, [], []]);
  },
);

it('nestjs-floodgate/throttler has one bucket for a client, whether it resets its connections or not', async () => {
  await using app = await start('Express', {
    imports: [ThrottlerModule.forRoot([{ limit: 5, ttl: 3_600_000 }])],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    controllers: [Plain],
  });
  for (let i = 0; i < 5; i++) expect((await app.send('/')).status).toBe(200);
  await resetAll(app.app.getHttpServer() as Server, app.port, REQUEST);
  expect(entered).toBe(5);
  expect((await app.send('/')).status).toBe(429);
});

it('over TCP, a client without an address passes no block list', async () => {
  await using app = await MessageApp.start({ imports: [RateLimitModule.forRoot(BLOCKING)], controllers: [Plain] });
  const packet = JSON.stringify({ pattern: 'plain', data: {}, id: '1' });
  expect(await app.client.send('plain')).toMatchObject({ error: { statusCode: 403 } });
  await resetAll(app.app.unwrap<Server>(), app.port, `${packet.length}#${packet}`);
  expect(entered).toBe(0);
});

it('over gRPC, a client without an address passes no block list', async () => {
  await using app = await GrpcApp.start({ imports: [RateLimitModule.forRoot(BLOCKING)], controllers: [Plain] });
  const headers = { 'content-type': 'application/grpc', te: 'trailers' };
  const message = Buffer.from([0, 0, 0, 0, 2, 8, 2]); // uncompressed, 2 bytes: { km: 2 }
  const bytes = await http2Request({ ':method': 'POST', ':path': '/rides.Rides/Quote', ...headers }, message);
  resetBeforeAccept(Number(app.url.split(':').at(-1)), CLIENTS, bytes);
  // A call of a client that stays comes after them, on a connection that was accepted after theirs.
  expect((await app.client.ask('Quote')).error?.code).toBe(7); // PERMISSION_DENIED
  expect(entered).toBe(0);
});
