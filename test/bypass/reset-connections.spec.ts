import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { adapterOf, limited, PLATFORMS } from '../support/http-app.js';
import { selfSigned } from '../support/self-signed.js';
import { StillStore } from '../support/still-store.js';

const CAPACITY = 5;
const CLIENTS = 15;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let entered = 0;

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'one', algorithm: 'token-bucket', capacity: CAPACITY, refill: '1/h' })
  get(): void {
    entered++;
  }
}

beforeEach(() => {
  entered = 0;
});

const CERTIFICATE = selfSigned();
const directory = mkdtempSync(join(tmpdir(), 'floodgate-socket-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function opened<T extends Socket>(socket: T, event: string): Promise<T> {
  socket.on('error', () => {});
  await once(socket, event);
  return socket;
}

function written(socket: Socket, bytes: string): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

/** TLS over a connection that the test can still reset. */
const encrypted = (socket: Socket): Promise<Socket> =>
  opened(connectTls({ socket, rejectUnauthorized: false }), 'secureConnect');

const plain = (port: number): Promise<Socket> => opened(connect(port, '127.0.0.1'), 'connect');

/** Sends a request over a new connection and does not wait for the answer. */
type Hostile = (port: number) => Promise<unknown>;

const reset =
  (bytes: string): Hostile =>
  async (port) => {
    const socket = await plain(port);
    await written(socket, bytes);
    socket.resetAndDestroy();
  };

const HOSTILE: [string, Hostile][] = [
  ['followed by a reset', reset(REQUEST)],
  ['that is pipelined behind others', reset(REQUEST.repeat(4))],
  [
    'on a connection that was answered before',
    async (port) => {
      const socket = await plain(port);
      await written(socket, REQUEST);
      await once(socket, 'data');
      await written(socket, REQUEST);
      socket.resetAndDestroy();
    },
  ],
];

/** The store charged only the client's bucket, and each call of the handler was charged. */
function expectOneBucket(store: StillStore, key = '{ip:127.0.0.1}'): void {
  expect(new Set(store.keys.map((text) => /\{.*\}/.exec(text)?.[0]))).toEqual(new Set([key]));
  expect(entered).toBeLessThanOrEqual(CAPACITY);
}

describe.each(PLATFORMS)('a client that resets its connections, over %s', (platform) => {
  it.each(HOSTILE)('has one bucket: a request %s', async (_, hostile) => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store });
    for (let i = 0; i < CLIENTS; i++) await hostile(app.port);
    await Promise.all(Array.from({ length: CLIENTS }, () => hostile(app.port)));
    await app.crowd(CAPACITY + 1, '/');
    expectOneBucket(store);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('is not served without an address, and charges nothing', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store });
    // Simulates a reset before the server accepts the connection: the address was never readable.
    const server = app.app.getHttpServer() as NodeJS.EventEmitter;
    server.prependListener('connection', (socket: Socket) => {
      Object.defineProperty(socket, 'remoteAddress', { value: undefined });
    });
    expect((await app.send('/')).status).toBe(503);
    expect([entered, store.asked]).toEqual([0, []]);
  });

  it('has one bucket over TLS', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store }, { https: CERTIFICATE });
    for (let i = 0; i < CLIENTS; i++) {
      const socket = await plain(app.port);
      await written(await encrypted(socket), REQUEST.repeat(1 + (i % 3)));
      socket.resetAndDestroy();
    }
    const last = await encrypted(await plain(app.port));
    await written(last, REQUEST);
    await once(last, 'data');
    last.destroy();
    expectOneBucket(store);
  });

  it('shares one bucket with all clients of a UNIX domain socket, whatever its headers say', async () => {
    const store = new StillStore();
    const path = join(directory, `${platform}.sock`);
    const module = { module: class Root {}, imports: [RateLimitModule.forRoot({ store })], controllers: [Routes] };
    const app: INestApplication = await NestFactory.create(module, adapterOf(platform), { logger: false });
    await app.listen((platform === 'Express' ? path : { path }) as never);
    const ask = async (headers = ''): Promise<number> => {
      const socket = await opened(connect(path), 'connect');
      await written(socket, `GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      const [data] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return Number(data.toString().split(' ')[1]);
    };
    try {
      const statuses = [];
      for (let i = 0; i < CAPACITY + 2; i++) statuses.push(await ask(`X-Forwarded-For: 198.51.100.${i}\r\n`));
      expect(statuses).toEqual([...Array<number>(CAPACITY).fill(200), 429, 429]);
      expect(store.keys).toEqual([expect.stringContaining('{unknown:}')]);
      expect(entered).toBe(CAPACITY);
    } finally {
      await app.close();
    }
  });
});
