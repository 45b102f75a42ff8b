import { once } from 'node:events';
import type { Socket as NodeSocket } from 'node:net';
import { type INestApplication, type Type, UseGuards } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import type { Namespace } from 'socket.io';
import { Manager, type Socket } from 'socket.io-client';
import { type Server, WebSocket } from 'ws';
import { type HttpApp, start } from '../../support/http-app.js';
import { GatedGuard, handlers, Limited, PLAIN, stage, type Work } from '../support/stage.js';
import type { Client, Ending, Moment, Sent, Served, Transport, Way } from '../support/transport.js';
import { listenersOf } from './connections.js';

/** How calls end that end with their handler. */
export function endingOfHandler(value: unknown): (moment: Moment) => Ending {
  return (moment) => {
    if (moment === 'answer') return { status: undefined, value, error: undefined, aborted: false };
    if (moment === 'stream') return { status: undefined, error: undefined, aborted: true };
    return { status: undefined, value: undefined, error: undefined, aborted: true };
  };
}

/** How connections end: when they close. They are aborted where `handleConnection` did not run before. */
function endingOfConnection(moment: Moment): Ending {
  if (moment === 'answer') return { status: undefined, error: undefined, aborted: false };
  if (moment === 'handler') return { status: undefined, error: undefined };
  return { status: undefined, error: undefined, aborted: true };
}

const SAID = { event: 'said', data: 'done' };
const NAMESPACE = '/moments';

const NO_STREAM_OF_CONNECTION = 'a connection has no answer that streams';

const stream = (): Observable<unknown> =>
  from(stage.items({ event: 'said', data: 'first' }, { event: 'said', data: 'last' }));

interface Gateway<T> {
  readonly server: T;
}

/** A gateway whose messages are the requests. */
function messagesOf<T>(options: { namespace?: string }): Type<Gateway<T>> {
  const Messages = handlers(
    [...PLAIN, 'stream'],
    (work) => SubscribeMessage(work),
    (work) => (work === 'stream' ? stream : () => stage.work()),
  );
  WebSocketGateway(options)(Messages);
  WebSocketServer()(Messages.prototype, 'server');
  return Messages as never;
}

/** A gateway whose connections are the requests, with the policies of `work`. */
function doorsOf<T>(options: { namespace?: string }, work: Work): Type<Gateway<T>> {
  @WebSocketGateway(options)
  @UseGuards(GatedGuard)
  class Doors {
    @WebSocketServer() readonly server!: T;

    @Limited(work)
    async handleConnection(client: Pick<WebSocket, 'send'> & Pick<Socket, 'emit'>): Promise<void> {
      await stage.work();
      if (options.namespace === undefined) client.send('welcome');
      else client.emit('said', 'welcome');
    }
  }
  return Doors;
}

function startGateway(
  gateway: Type,
  options: Parameters<Transport['open']>[0],
  adapterOf: (app: INestApplication) => WsAdapter | IoAdapter,
): Promise<HttpApp> {
  return start(
    'Express',
    { imports: [RateLimitModule.forRoot(options)], providers: [gateway] },
    { configure: (app) => app.useWebSocketAdapter(adapterOf(app)) },
  );
}

/** Closes a WebSocket. `_socket` is no public property, and the only way to a reset. */
export function leaveSocket(socket: WebSocket, way: Way): void {
  if (way === 'close') socket.close();
  else if (way === 'FIN') socket.terminate();
  else if (way === 'RST') (socket as unknown as { readonly _socket: NodeSocket })['_socket'].resetAndDestroy();
}

/** A client of ws: its messages are the requests, or its connection is. */
class WsClient implements Client {
  private socket: WebSocket | undefined;

  constructor(
    private readonly isMessage: boolean,
    private readonly open: () => WebSocket,
  ) {}

  async connect(): Promise<void> {
    this.socket = this.open();
    await once(this.socket, 'open');
  }

  send(work: Work): Sent {
    if (!this.isMessage) {
      const ready = this.connect();
      const done = once(this.socket!, 'message');
      return { ready, first: done, done };
    }
    const first = once(this.socket!, 'message');
    this.socket!.send(JSON.stringify({ event: work, data: {} }));
    return { first, done: first };
  }

  leave(way: Way): void {
    leaveSocket(this.socket!, way);
  }
}

async function openWs(
  isMessage: boolean,
  options: Parameters<Transport['open']>[0],
  gateway: Type<Gateway<Server>>,
): Promise<Served> {
  const http = await startGateway(gateway, options, (app) => new WsAdapter(app));
  const { server } = http.app.get(gateway);
  const sockets: WebSocket[] = [];
  let departed = 0;
  server.on('connection', (socket) => socket.on('close', () => departed++));
  const open = (): WebSocket => {
    const socket = new WebSocket(`ws://127.0.0.1:${http.port}/`).on('error', () => {});
    sockets.push(socket);
    return socket;
  };
  return {
    app: http.app,
    logs: http.logs,
    async client(way) {
      const client = new WsClient(isMessage, open);
      if (isMessage) await client.connect();
      if (isMessage && way === 'stays') await client.send('work').done;
      return client;
    },
    departed: () => departed,
    listeners: () => listenersOf([...server.clients].flatMap((one) => [one, (one as never)['_socket']])),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.terminate();
      await http.close();
    },
  };
}

/** The parts of socket.io that are no public types: a connection of engine.io, and the WebSocket below. */
interface EngineConnection {
  readonly transport: { readonly ws: WebSocket; readonly socket: WebSocket };
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

async function openSocketIo(
  isMessage: boolean,
  options: Parameters<Transport['open']>[0],
  gateway: Type<Gateway<Namespace>>,
): Promise<Served> {
  const http = await startGateway(gateway, options, (app) => new IoAdapter(app));
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

const MESSAGES = { value: SAID, without: {}, ending: endingOfHandler(SAID) };
const CONNECTIONS = { value: undefined, without: { stream: NO_STREAM_OF_CONNECTION }, ending: endingOfConnection };
const IN_NAMESPACE = { namespace: NAMESPACE };

export const wsMessages: Transport = {
  ...MESSAGES,
  name: 'messages of ws',
  ways: ['close', 'FIN', 'RST', 'stays'],
  open: (options) => openWs(true, options, messagesOf({})),
};

export const wsConnections: Transport = {
  ...CONNECTIONS,
  name: 'connections of ws',
  ways: ['close', 'FIN', 'RST'],
  open: (options, work) => openWs(false, options, doorsOf({}, work)),
};

export const socketIoMessages: Transport = {
  ...MESSAGES,
  name: 'messages of socket.io',
  ways: ['close', 'FIN', 'RST', 'namespace', 'stays'],
  open: (options) => openSocketIo(true, options, messagesOf(IN_NAMESPACE)),
};

export const socketIoConnections: Transport = {
  ...CONNECTIONS,
  name: 'connections of socket.io',
  ways: ['close', 'FIN', 'RST', 'namespace'],
  open: (options, work) => openSocketIo(false, options, doorsOf(IN_NAMESPACE, work)),
};
