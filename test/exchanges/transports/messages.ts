import { once } from 'node:events';
import { createConnection, type Server, type Socket } from 'node:net';
import { Controller, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type ClientOptions,
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  type MicroserviceOptions,
  Transport as NestTransport,
} from '@nestjs/microservices';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { isNest11 } from '../../support/nest-version.js';
import { MessageApp } from '../../contexts/support/message-app.js';
import { CapturedLogs } from '../../support/http-app.js';
import { NatsServer } from '../../support/nats-server.js';
import { RedisServer } from '../../support/redis-server.js';
import { GatedGuard, Limited, stage, type Work } from '../support/stage.js';
import type { Client, Moment, Sent, Transport, Way } from '../support/transport.js';
import { CountedConnections } from './connections.js';
import { ANSWER } from './http1.js';
import { endingOfHandler } from './ws.js';

@Controller()
@UseGuards(GatedGuard)
class Messages {
  @MessagePattern('work')
  @Limited('work')
  work(): unknown {
    return stage.work();
  }

  @MessagePattern('planned')
  @Limited('planned')
  planned(): unknown {
    return stage.work();
  }

  @MessagePattern('chosen')
  @Limited('chosen')
  chosen(): unknown {
    return stage.work();
  }

  @MessagePattern('queue')
  @Limited('queue')
  queue(): unknown {
    return stage.work();
  }

  @MessagePattern('stream')
  @Limited('stream')
  stream(): Observable<unknown> {
    return from(stage.items('first', 'last'));
  }
}

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

type Transported = Extract<MicroserviceOptions, { transport?: NestTransport.REDIS | NestTransport.NATS }>;

interface Broker extends AsyncDisposable {
  readonly options: Transported;
}

async function redis(): Promise<Broker> {
  const server = await RedisServer.start();
  return {
    options: { transport: NestTransport.REDIS, options: { host: server.host, port: server.port } },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function nats(): Promise<Broker> {
  const server = await NatsServer.start();
  return {
    options: { transport: NestTransport.NATS, options: { servers: [server.url] } },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

class BrokerClient implements Client {
  constructor(private readonly proxy: ClientProxy) {}

  send(work: Work): Sent {
    const done = lastValueFrom(this.proxy.send<unknown>(work, {}));
    return { first: done, done };
  }

  leave(): void {
    // Nobody would hear of it.
  }
}

const NOBODY_LEAVES = 'a broker does not say that a sender has left';

/** Messages over a broker. They end with their handler: there is no client that could leave. */
function brokered(name: string, start: () => Promise<Broker>): Transport {
  const moments: readonly Moment[] = ['guard', 'identity', 'plan', 'policy', 'store', 'queue', 'handler', 'stream'];
  return {
    name: `RPC over ${name}`,
    value: ANSWER,
    ways: ['stays'],
    without: Object.fromEntries(moments.map((moment) => [moment, NOBODY_LEAVES])),
    ending: endingOfHandler(ANSWER),
    async open(options) {
      const broker = await start();
      const logs = new CapturedLogs();
      class Root {}
      const app = await NestFactory.createMicroservice<MicroserviceOptions>(
        { module: Root, imports: [RateLimitModule.forRoot(options)], controllers: [Messages] },
        { ...broker.options, logger: logs, abortOnError: false },
      );
      await app.listen();
      const proxy = ClientProxyFactory.create(broker.options as ClientOptions);
      await proxy.connect();
      return {
        app,
        logs,
        client: async () => new BrokerClient(proxy),
        departed: () => 0,
        listeners: () => 0,
        async [Symbol.asyncDispose]() {
          await proxy.close();
          await app.close();
          await broker[Symbol.asyncDispose]();
        },
      };
    },
  };
}

export const redisMessages = brokered('Redis', redis);
export const natsMessages = brokered('NATS', nats);
