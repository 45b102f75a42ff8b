import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { selfSigned } from '../support/self-signed.js';
import { StillStore } from '../support/still-store.js';
import { RateLimitRuntime } from '../support/runtime.js';

const QUEUE = {
  name: 'queue',
  algorithm: 'leaky-bucket',
  capacity: 3,
  drain: '1/h',
  by: 'global',
  scope: 'app',
} as const;
const USER = { kind: 'user', value: 'ada' };

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'one', algorithm: 'token-bucket', capacity: 5, refill: '1/h' })
  get(): void {}

  @Get('queue')
  @RateLimit(QUEUE)
  queue(): void {}
}

interface Served extends AsyncDisposable {
  readonly app: INestApplication;
  readonly store: StillStore;
  readonly open: () => ClientHttp2Session;
}

/** Serves Fastify only. Express replaces the prototype of requests, which breaks Node's compatibility API of HTTP/2. */
async function serve(https?: ReturnType<typeof selfSigned>): Promise<Served> {
  class Root {}
  const store = new StillStore();
  const middleware = [{ name: 'all', algorithm: 'token-bucket', capacity: 100, refill: '1/h' } as const];
  const imports = [RateLimitModule.forRoot({ store, middleware })];
  const adapter = new FastifyAdapter({ http2: true, ...(https && { https }) } as never);
  const app = await NestFactory.create({ module: Root, imports, controllers: [Routes] }, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  const sessions: ClientHttp2Session[] = [];
  const open = (): ClientHttp2Session => {
    const url = `${https === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    const session = connect(url, { rejectUnauthorized: false }).on('error', () => {});
    sessions.push(session);
    return session;
  };
  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await app.close();
  };
  return { app, store, open, [Symbol.asyncDispose]: close };
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}): Promise<IncomingHttpHeaders> {
  const stream = session.request(headers);
  stream.resume();
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return answer;
}

describe.each([
  ['without TLS', undefined],
  ['over TLS', selfSigned()],
])('HTTP/2 %s', (_, certificate) => {
  it('has the headers of HTTP/1, on allowed and rejected requests', async () => {
    await using served = await serve(certificate);
    const session = served.open();
    for (let i = 4; i >= 0; i--) {
      expect(await ask(session)).toMatchObject({
        ':status': 200,
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': `${i}`,
      });
    }
    expect(await ask(session)).toMatchObject({ ':status': 429, 'retry-after': '3600', 'x-ratelimit-remaining': '0' });
  });

  it('has one bucket for all streams and connections of an address, whatever their headers say', async () => {
    await using served = await serve(certificate);
    const sessions = [served.open(), served.open(), served.open()];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (__, i) => {
        const headers = {
          'x-user-id': `u${i}`,
          'x-api-key': `k${i}`,
          'x-forwarded-for': `10.0.0.${i}`,
          ':authority': `h${i}`,
        };
        return ask(sessions[i % 3]!, headers);
      }),
    );
    expect(answers.filter((answer) => Number(answer[':status']) === 200)).toHaveLength(5);
    expect(new Set(served.store.keys.map((key) => /\{.*\}/.exec(key)![0]))).toEqual(new Set(['{ip:127.0.0.1}']));
  });

  it('refunds the slot of a stream that is reset while it waits', async () => {
    await using served = await serve(certificate);
    const limiter = served.app.get(RateLimiter);
    const { waitingRoom } = served.app.get(RateLimitRuntime);
    const places = async (): Promise<number> => (await limiter.peek(QUEUE, USER)).policies[0]!.remaining;
    const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
      for (const since = performance.now(); !(await holds()); await delay(1)) {
        if (performance.now() - since > 4_000) throw new Error(`Timed out waiting for ${String(holds)}`);
      }
    };
    const session = served.open();
    expect((await ask(session, { ':path': '/queue' }))[':status']).toBe(200);
    const waiting = Array.from({ length: 3 }, () => session.request({ ':path': '/queue' }).on('error', () => {}));
    await until(() => waitingRoom.size === 3);
    expect(await places()).toBe(0);
    waiting[2]!.close(8); // CANCEL
    await until(async () => (await places()) === 1 && waitingRoom.places === 2);
    session.destroy();
    await until(() => waitingRoom.places === 0);
    // The streams of a session close one by one. A slot that is not the last one is not refunded.
    await until(async () => (await places()) >= 2);
  });
});
