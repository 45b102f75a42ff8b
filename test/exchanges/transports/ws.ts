import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Type, UseGuards } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import { type Server, WebSocket } from 'ws';
import { type HttpApp, start } from '../../support/http-app.js';
import { GatedGuard, Limited, stage, type Work } from '../support/stage.js';
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
export function endingOfConnection(moment: Moment): Ending {
  if (moment === 'answer') return { status: undefined, error: undefined, aborted: false };
  if (moment === 'handler') return { status: undefined, error: undefined };
  return { status: undefined, error: undefined, aborted: true };
}

export const SAID = { event: 'said', data: 'done' };

export const NO_STREAM_OF_CONNECTION = 'a connection has no answer that streams';

@WebSocketGateway()
@UseGuards(GatedGuard)
class Messages {
  @WebSocketServer() readonly server!: Server;

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
function doorsFor(work: Work): Type<{ readonly server: Server }> {
  @WebSocketGateway()
  @UseGuards(GatedGuard)
  class Doors {
    @WebSocketServer() readonly server!: Server;

    @Limited(work)
    async handleConnection(client: WebSocket): Promise<void> {
      await stage.work();
      client.send('welcome');
    }
  }
  return Doors;
}

/** Closes a WebSocket. `_socket` is no public property, and the only way to a reset. */
export function leaveSocket(socket: WebSocket, way: Way): void {
  if (way === 'close') socket.close();
  else if (way === 'FIN') socket.terminate();
  else if (way === 'RST') (socket as unknown as { readonly _socket: Socket })['_socket'].resetAndDestroy();
}

/** A client whose messages are the requests. */
class MessageClient implements Client {
  constructor(readonly socket: WebSocket) {}

  send(work: Work): Sent {
    const first = once(this.socket, 'message');
    this.socket.send(JSON.stringify({ event: work, data: {} }));
    return { first, done: first };
  }

  leave(way: Way): void {
    leaveSocket(this.socket, way);
  }
}

/** A client whose connection is the request. */
class ConnectionClient implements Client {
  private socket: WebSocket | undefined;

  constructor(private readonly open: () => WebSocket) {}

  send(): Sent {
    const socket = (this.socket = this.open());
    const done = once(socket, 'message');
    return { ready: once(socket, 'open'), first: done, done };
  }

  leave(way: Way): void {
    leaveSocket(this.socket!, way);
  }
}

function startGateway(gateway: Type, options: Parameters<Transport['open']>[0]): Promise<HttpApp> {
  return start(
    'Express',
    { imports: [RateLimitModule.forRoot(options)], providers: [gateway] },
    { configure: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
  );
}

/** @param connect makes a client */
function served(
  http: HttpApp,
  gateway: Type<{ readonly server: Server }>,
  connect: (open: () => WebSocket, way: Way) => Promise<Client>,
): Served {
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
    client: (way) => connect(open, way),
    departed: () => departed,
    listeners: () => listenersOf([...server.clients].flatMap((one) => [one, (one as never)['_socket']])),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.terminate();
      await http.close();
    },
  };
}

export const wsMessages: Transport = {
  name: 'messages of ws',
  value: SAID,
  ways: ['close', 'FIN', 'RST', 'stays'],
  without: {},
  ending: endingOfHandler(SAID),
  async open(options) {
    return served(await startGateway(Messages, options), Messages, async (open, way) => {
      const socket = open();
      await once(socket, 'open');
      const client = new MessageClient(socket);
      if (way === 'stays') await client.send('work').done;
      return client;
    });
  },
};

export const wsConnections: Transport = {
  name: 'connections of ws',
  value: undefined,
  ways: ['close', 'FIN', 'RST'],
  without: { stream: NO_STREAM_OF_CONNECTION },
  ending: endingOfConnection,
  async open(options, work) {
    const Doors = doorsFor(work);
    return served(await startGateway(Doors, options), Doors, async (open) => new ConnectionClient(open));
  },
};
