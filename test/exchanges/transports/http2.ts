import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type Http2Server,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection, type Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimitModule } from 'nestjs-floodgate';
import { isNest11 } from '../../support/nest-version.js';
import { until } from '../../support/faults/until.js';
import { CapturedLogs, HttpApp } from '../../support/http-app.js';
import type { Work } from '../support/stage.js';
import type { Client, Sent, Served, Transport, Way } from '../support/transport.js';
import { CountedConnections } from './connections.js';
import { ANSWER, endingOfResponse, Routes } from './http1.js';

const LIMIT_MS = 10_000;
const CANCEL = 8;

/** A session, and the connection below it, which a test can reset. */
interface Opened {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
}

async function opened(port: number): Promise<Opened> {
  const socket = createConnection(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => socket }).on('error', () => {});
  await once(session, 'connect');
  return { session, socket };
}

/** A stream of a session. */
class Http2Client implements Client {
  private stream: ClientHttp2Stream | undefined;

  constructor(private readonly connection: Opened) {}

  send(work: Work): Sent {
    const stream = this.connection.session.request({ ':path': `/${work}` }).on('error', () => {});
    this.stream = stream;
    return { first: once(stream, 'data'), done: once(stream, 'end') };
  }

  leave(way: Way): void {
    if (way === 'RST_STREAM') this.stream!.close(CANCEL);
    else if (way === 'RST') this.connection.socket.resetAndDestroy();
    else if (way === 'FIN') this.connection.session.destroy();
  }
}

export async function startHttp2(metadata: object): Promise<HttpApp> {
  class Root {}
  const logs = new CapturedLogs();
  const app = await NestFactory.create({ module: Root, ...metadata }, new FastifyAdapter({ http2: true } as never), {
    logger: logs,
    abortOnError: false,
  });
  await app.listen(0, '127.0.0.1');
  return new HttpApp(app, logs, ((app.getHttpServer() as Http2Server).address() as { port: number }).port);
}

export const http2OnFastify: Transport = {
  name: 'HTTP/2 on Fastify',
  // A stream of events of Nest 11 sets a header that HTTP/2 does not know.
  ...(isNest11 && { noise: /^UnsupportedWarning: The provided connection header/ }),
  value: ANSWER,
  ways: ['FIN', 'RST', 'RST_STREAM', 'stays'],
  without: {},
  ending: endingOfResponse(ANSWER),
  async open(options): Promise<Served> {
    const http = await startHttp2({ imports: [RateLimitModule.forRoot(options)], controllers: [Routes] });
    const server = http.app.getHttpServer() as Http2Server;
    const connections = new CountedConnections(server);
    const sessions: Opened[] = [];
    let shared: Promise<Opened> | undefined;
    let [streams, departed] = [0, 0];
    server.on('stream', (stream: ServerHttp2Stream) => {
      streams++;
      stream.on('close', () => departed++);
    });
    const open = async (): Promise<Opened> => {
      const connection = await opened(http.port);
      sessions.push(connection);
      return connection;
    };
    /** A session that has been used before, and all of whose streams have ended. */
    const used = async (): Promise<Opened> => {
      const connection = await open();
      await new Http2Client(connection).send('work').done;
      await until('its first stream has ended', LIMIT_MS, () => departed === streams);
      return connection;
    };
    return {
      app: http.app,
      logs: http.logs,
      async client(way) {
        const keeps = way === 'RST_STREAM' || way === 'stays';
        return new Http2Client(keeps ? await (shared ??= used()) : await open());
      },
      departed: () => departed,
      listeners: () => connections.listeners(),
      async [Symbol.asyncDispose]() {
        for (const { session } of sessions) session.destroy();
        await http.close();
      },
    };
  },
};
