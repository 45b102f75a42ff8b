import { once } from 'node:events';
import type { Server } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { Controller, Get, Sse } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import { type Platform, start } from '../../support/http-app.js';
import { handlers, PLAIN, stage, type Work } from '../support/stage.js';
import type { Client, Ending, Moment, Sent, Served, Transport, Way } from '../support/transport.js';
import { CountedConnections } from './connections.js';

export const ANSWER = { answer: 'done' };

const stream = (): Observable<unknown> => from(stage.items({ data: 'first' }, { data: 'last' }));

export const Routes = handlers(
  [...PLAIN, 'stream'],
  (work) => (work === 'stream' ? Sse(work) : Get(work)),
  (work) => (work === 'stream' ? stream : () => stage.work()),
);
Controller()(Routes);

/** How requests over HTTP end: with their response. */
export function endingOfResponse(value: unknown): (moment: Moment) => Ending {
  return (moment) => {
    if (moment === 'answer') return { status: 200, value, error: undefined, aborted: false };
    // Of a stream the headers have been sent, and `value` is what has streamed so far.
    if (moment === 'stream') return { status: 200, error: undefined, aborted: true };
    return { status: undefined, value: undefined, error: undefined, aborted: true };
  };
}

/** A client of HTTP/1.1 on a connection of its own, with the bytes that a test can see through. */
export class Http1Client implements Client {
  private text = '';

  private constructor(
    private readonly socket: Socket,
    private readonly request: (work: Work) => string,
  ) {
    socket.on('error', () => {});
    socket.on('data', (chunk) => (this.text += chunk.toString('latin1')));
  }

  static async connect(port: number, request: (work: Work) => string): Promise<Http1Client> {
    const socket = createConnection(port, '127.0.0.1');
    const client = new Http1Client(socket, request);
    await once(socket, 'connect');
    return client;
  }

  send(work: Work): Sent {
    this.text = '';
    this.socket.write(this.request(work));
    return { first: this.until(() => this.text.includes('data: first')), done: this.until(() => isWhole(this.text)) };
  }

  leave(way: Way): void {
    if (way === 'RST') this.socket.resetAndDestroy();
    else if (way !== 'stays') this.socket.destroy();
  }

  end(): void {
    this.socket.destroy();
  }

  private until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        this.socket.off('data', look);
        resolve();
      };
      this.socket.on('data', look);
    });
  }
}

/** Whether a text is a whole response. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, end + 1))?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length);
}

export function http1(platform: Platform): Transport {
  return {
    name: `HTTP/1.1 on ${platform}`,
    value: ANSWER,
    ways: ['FIN', 'RST', 'stays'],
    without: {},
    ending: endingOfResponse(ANSWER),
    async open(options) {
      const app = await start(platform, { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] });
      return servedOverHttp1(app, (work) => `GET /${work} HTTP/1.1\r\nHost: x\r\n\r\n`);
    },
  };
}

/** An application whose requests are answered over HTTP/1.1. */
export function servedOverHttp1(http: Awaited<ReturnType<typeof start>>, request: (work: Work) => string): Served {
  const connections = new CountedConnections(http.app.getHttpServer() as Server);
  const clients: Http1Client[] = [];
  return {
    app: http.app,
    logs: http.logs,
    async client(way) {
      const client = await Http1Client.connect(http.port, request);
      clients.push(client);
      if (way === 'stays') await client.send('work').done;
      return client;
    },
    departed: () => connections.closed,
    listeners: () => connections.listeners(),
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.end();
      await http.close();
    },
  };
}
