import { once } from 'node:events';
import { createConnection, type Server, type Socket } from 'node:net';
import { Controller } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import { isNest11 } from '../../support/nest-version.js';
import { MessageApp } from '../../contexts/support/message-app.js';
import { handlers, PLAIN, stage, type Work } from '../support/stage.js';
import type { Client, Sent, Transport, Way } from '../support/transport.js';
import { CountedConnections } from './connections.js';
import { ANSWER } from './http1.js';
import { endingOfHandler } from './sockets.js';

const Messages = handlers(
  [...PLAIN, 'stream'],
  (work) => MessagePattern(work),
  (work) => (work === 'stream' ? (): Observable<unknown> => from(stage.items('first', 'last')) : () => stage.work()),
);
Controller()(Messages);

/** A client over a connection of its own, which a test can reset. */
class TcpClient implements Client {
  private text = '';
  private id = 0;

  private constructor(readonly socket: Socket) {
    socket.on('error', () => {});
    socket.on('data', (chunk) => (this.text += chunk.toString()));
  }

  static async connect(port: number): Promise<TcpClient> {
    const client = new TcpClient(createConnection(port, '127.0.0.1'));
    await once(client.socket, 'connect');
    return client;
  }

  send(work: Work): Sent {
    this.text = '';
    const packet = JSON.stringify({ pattern: work, data: {}, id: String(++this.id) });
    this.socket.write(`${packet.length}#${packet}`);
    return { first: this.until('"first"'), done: this.until('"isDisposed":true') };
  }

  leave(way: Way): void {
    if (way === 'RST') this.socket.resetAndDestroy();
    else if (way === 'FIN') this.socket.destroy();
  }

  private until(part: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.text.includes(part)) return;
        this.socket.off('data', look);
        resolve();
      };
      this.socket.on('data', look);
    });
  }
}

/** Messages over TCP. They end with their handler, or when the connection closes before. */
export const tcpMessages: Transport = {
  name: 'RPC over TCP',
  value: ANSWER,
  ways: ['FIN', 'RST', 'stays'],
  without: {},
  // Nest's words for a connection that was reset; Nest 11 logs those of the socket, too.
  noise: isNest11
    ? /The invalid received message from tcp server|^Error: read ECONNRESET .*Server$/
    : /The invalid received message from tcp server/,
  ending: endingOfHandler(ANSWER),
  async open(options) {
    const served = await MessageApp.start({ imports: [RateLimitModule.forRoot(options)], controllers: [Messages] });
    const connections = new CountedConnections(served.app.unwrap<Server>());
    const clients: TcpClient[] = [];
    return {
      app: served.app,
      logs: served.logs,
      async client(way) {
        const client = await TcpClient.connect(served.port);
        clients.push(client);
        if (way === 'stays') await client.send('work').done;
        return client;
      },
      departed: () => connections.closed,
      listeners: () => connections.listeners(),
      async [Symbol.asyncDispose]() {
        for (const { socket } of clients) socket.destroy();
        await served[Symbol.asyncDispose]();
      },
    };
  },
};
