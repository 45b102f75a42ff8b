import type { Socket as NodeSocket } from 'node:net';
import { type Type, UseGuards } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import type { Namespace } from 'socket.io';
import { Manager, type Socket } from 'socket.io-client';
import type { WebSocket } from 'ws';
import { type HttpApp, start } from '../../support/http-app.js';
import { GatedGuard, Limited, stage, type Work } from '../support/stage.js';
import type { Client, Sent, Served, Transport, Way } from '../support/transport.js';
import { listenersOf } from './connections.js';
import { endingOfConnection, endingOfHandler, NO_STREAM_OF_CONNECTION, SAID } from './ws.js';

const NAMESPACE = '/moments';

/** The parts of socket.io that are no public types: a connection of engine.io, and the WebSocket below. */
interface EngineConnection {
  readonly transport: { readonly ws: WebSocket; readonly socket: WebSocket };
}

@WebSocketGateway({ namespace: NAMESPACE })
@UseGuards(GatedGuard)
class Messages {
  @WebSocketServer() readonly server!: Namespace;

  @SubscribeMessage('work')
  @Limited('work')
  work(): unknown {
    return stage.work();
  }

  @SubscribeMessage('planned')
  @Limited('planned')
  planned(): unknown {
    return stage.work();
  }

  @SubscribeMessage('chosen')
  @Limited('chosen')
  chosen(): unknown {
    return stage.work();
  }

  @SubscribeMessage('queue')
  @Limited('queue')
  queue(): unknown {
    return stage.work();
  }

  @SubscribeMessage('stream')
  @Limited('stream')
  stream(): Observable<unknown> {
    return from(stage.items({ event: 'said', data: 'first' }, { event: 'said', data: 'last' }));
  }
}

/** A gateway whose connections have the policies of `work`. */
function doorsFor(work: Work): Type<{ readonly server: Namespace }> {
  @WebSocketGateway({ namespace: NAMESPACE })
  @UseGuards(GatedGuard)
  class Doors {
    @WebSocketServer() readonly server!: Namespace;

    @Limited(work)
    async handleConnection(client: { emit(event: string, data: unknown): void }): Promise<void> {
      await stage.work();
      client.emit('said', 'welcome');
    }
  }
  return Doors;
}

/** What a client of a namespace has, beside the same connection's place in the root namespace. */
class NamespaceClient implements Client {
  readonly socket: Socket;

  private constructor(
    private readonly manager: Manager,
    private readonly isMessage: boolean,
  ) {
    this.socket = manager.socket(NAMESPACE);
  }

  /** Connects to the root namespace, which keeps the connection, and for messages to that of the gateway. */
  static async connect(port: number, isMessage: boolean): Promise<NamespaceClient> {
    const manager = new Manager(`http://127.0.0.1:${port}`, {
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      autoConnect: false,
    });
    const root = manager.socket('/').connect();
    await new Promise<void>((resolve, reject) => root.on('connect', resolve).on('connect_error', reject));
    const client = new NamespaceClient(manager, isMessage);
    if (isMessage) await client.enter();
    return client;
  }

  send(work: Work): Sent {
    const said = new Promise((resolve) => this.socket.once('said', resolve));
    if (!this.isMessage) return { ready: this.enter(), first: said, done: said };
    this.socket.emit(work, {});
    return { first: said, done: said };
  }

  leave(way: Way): void {
    if (way === 'namespace') this.socket.disconnect();
    else if (way === 'close') this.manager.engine.close();
    else if (way !== 'stays') {
      const { ws } = (this.manager.engine as unknown as EngineConnection).transport;
      if (way === 'FIN') ws.terminate();
      else (ws as unknown as { readonly _socket: NodeSocket })['_socket'].resetAndDestroy();
    }
  }

  end(): void {
    this.manager.engine.close();
  }

  private enter(): Promise<void> {
    const entered = new Promise<void>((resolve) => this.socket.once('connect', resolve));
    this.socket.connect();
    return entered;
  }
}

function startGateway(gateway: Type, options: Parameters<Transport['open']>[0]): Promise<HttpApp> {
  return start(
    'Express',
    { imports: [RateLimitModule.forRoot(options)], providers: [gateway] },
    { configure: (app) => app.useWebSocketAdapter(new IoAdapter(app)) },
  );
}

function served(http: HttpApp, gateway: Type<{ readonly server: Namespace }>, isMessage: boolean): Served {
  const { server } = http.app.get(gateway);
  const clients: NamespaceClient[] = [];
  const connections = new Set<EngineConnection & NodeJS.EventEmitter>();
  let departed = 0;
  server.server.engine.on('connection', (connection: EngineConnection & NodeJS.EventEmitter) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  server.on('connection', (socket) => socket.once('disconnect', () => departed++));
  return {
    app: http.app,
    logs: http.logs,
    async client(way) {
      const client = await NamespaceClient.connect(http.port, isMessage);
      clients.push(client);
      if (isMessage && way === 'stays') await client.send('work').done;
      return client;
    },
    departed: () => departed,
    listeners: () =>
      listenersOf(
        [...connections].flatMap((one) => [one, one.transport.socket, (one.transport as never)['socket']['_socket']]),
      ),
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.end();
      await http.close();
    },
  };
}

export const socketIoMessages: Transport = {
  name: 'messages of socket.io',
  value: SAID,
  ways: ['close', 'FIN', 'RST', 'namespace', 'stays'],
  without: {},
  ending: endingOfHandler(SAID),
  async open(options) {
    return served(await startGateway(Messages, options), Messages, true);
  },
};

export const socketIoConnections: Transport = {
  name: 'connections of socket.io',
  value: undefined,
  ways: ['close', 'FIN', 'RST', 'namespace'],
  without: { stream: NO_STREAM_OF_CONNECTION },
  ending: endingOfConnection,
  async open(options, work) {
    const Doors = doorsFor(work);
    return served(await startGateway(Doors, options), Doors, false);
  },
};
