import type { IncomingMessage } from 'node:http';
import type { ExecutionContext, Type } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import type { Client } from 'floodgate';
import type { Emitter } from 'floodgate/internal';
import { EventWatch, optionalPackageError } from 'floodgate/internal-boot';
import type { Handler } from '../handlers/route.js';
import type { ContextAdapter, ContextRequest } from './context-adapter.js';

/** The metadata keys of `@WebSocketGateway` on classes, and of `@SubscribeMessage` on methods. */
const GATEWAY = 'websockets:is_gateway';
const MESSAGE = 'websockets:message_mapping';

/** The upgrade that opened a connection. */
type Upgrade = Pick<IncomingMessage, 'headers' | 'method' | 'rawHeaders' | 'socket' | 'url'> & {
  readonly user?: unknown;
};

/** A client of the `ws` driver: a socket of the WebSocket standard. */
interface NativeClient extends Emitter {
  readonly readyState: number;
  send(text: string): void;
  close(code: number, reason: string): void;
  readonly user?: unknown;
  /** The connection below. It is not a public property of ws. It is used if the upgrade was not seen. */
  readonly _socket?: Upgrade['socket'];
}

/** A client of the socket.io driver. */
interface SocketIoClient extends Emitter {
  readonly request: Upgrade;
  readonly data?: { readonly user?: unknown };
  readonly user?: unknown;
  readonly connected: boolean;
  emit(event: string, body: unknown): void;
  disconnect(close: true): void;
}

export type WsClient = NativeClient | SocketIoClient;

/** The part of `@nestjs/websockets` that is used here. */
interface WsPackage {
  readonly WsException: new (body: string | object) => Error;
  readonly BaseWsExceptionFilter: { readonly prototype: object };
}

/** An open connection. */
interface Connection {
  readonly upgrade?: Upgrade | undefined;
  /** Settles when the connection is admitted; undefined once it is, and where no policy limits it. */
  admitted?: Promise<unknown> | undefined;
}

/** `readyState` of the WebSocket standard. */
const OPEN = 1;

const connections = new WeakMap<object, Connection>();
const closing = new EventWatch('close');
const disconnecting = new EventWatch('disconnect');

/** WebSocket gateways, over socket.io and ws: their messages, and `handleConnection`. */
export function wsContext(): ContextAdapter {
  let websockets: WsPackage | undefined;
  return {
    type: 'ws',
    handlers: 'a handler of a WebSocket gateway',
    place: 'providers',
    isHandler: (type, handler) =>
      isGateway(type) && (Reflect.hasMetadata(MESSAGE, handler) || handler === connectionHandlerOf(type)),
    // A connection that waited for its own decision would wait for ever.
    opened: (context) => (isMessage(context) ? connections.get(clientOf(context))?.admitted : undefined),
    // A policy that stands on several gateways of one server charges a connection once.
    operation: (context) => (isMessage(context) ? undefined : connections.get(clientOf(context))),
    request: (context) => requestOf(clientOf(context)),
    client: (context) => new SocketOfClient(clientOf(context)),
    ends: (context) => (isMessage(context) ? 'handler' : 'client'),
    prepare: async () => {
      websockets = await wsPackage();
    },
    toError: (exception, context) => {
      if (websockets === undefined) return exception;
      const body = exception.getResponse();
      const thrown = new websockets.WsException(body);
      if (isMessage(context) && !tellsNative(websockets) && !isFiltered(context, thrown)) {
        tellNative(clientOf(context), body);
      }
      return thrown;
    },
    caught: (exception, host) => tell(host.getArgByIndex<WsClient>(0), exception.getResponse()),
  };
}

export function isGateway(type: Type): boolean {
  return Reflect.hasMetadata(GATEWAY, type);
}

/** The method that Nest calls for a new connection. */
export function connectionHandlerOf(type: Type): Handler | undefined {
  return (type.prototype as { readonly handleConnection?: Handler }).handleConnection;
}

/**
 * Notes a new connection. With ws only the connection event has the upgrade's request, and messages need its headers. Several
 * gateways of one server see the same connection.
 *
 * @param args what Nest passes to `handleConnection`
 */
export function connectionOpened([client, upgrade]: readonly unknown[]): Connection {
  let connection = connections.get(client as object);
  if (connection === undefined) {
    connection = { upgrade: isUpgrade(upgrade) ? upgrade : undefined };
    connections.set(client as object, connection);
  }
  return connection;
}

/** Lets the messages of a connection wait for a gateway's decision as well. */
export function waitFor(connection: Connection, admitted: Promise<unknown>): void {
  const all = connection.admitted === undefined ? admitted : Promise.all([connection.admitted, admitted]);
  connection.admitted = all;
  const admit = (): void => {
    if (connection.admitted === all) connection.admitted = undefined;
  };
  all.then(admit, () => {}); // the connection may bring no message
}

/** Whether the client has not left yet. */
export function isOpen(client: WsClient): boolean {
  return isNative(client) ? client.readyState === OPEN : client.connected;
}

/**
 * Tells a client why its connection ends, and ends it. A WebSocket closes with the code 1013, "try again later".
 *
 * Source: https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number
 */
export function turnAway(client: WsClient, body: unknown): void {
  tell(client, body);
  end(client);
}

/** Sends the event that Nest sends for a `WsException`. */
function tell(client: WsClient, body: unknown): void {
  if (isNative(client)) tellNative(client, body);
  else client.emit('exception', body);
}

/** Nest's own filter of exceptions sends to clients of ws on Nest 12. On Nest 11 it emits an event that does not leave the process. */
function tellsNative({ BaseWsExceptionFilter }: WsPackage): boolean {
  return 'isNativeWebSocket' in BaseWsExceptionFilter.prototype;
}

/** Whether an exception filter on the gateway answers. Nest asks no global filters in gateways. */
function isFiltered(context: ExecutionContext, thrown: Error): boolean {
  return [context.getHandler(), context.getClass()].some((place) =>
    listed(EXCEPTION_FILTERS_METADATA, place).some((filter) => {
      const caught = listed(FILTER_CATCH_EXCEPTIONS, typeof filter === 'function' ? filter : filter.constructor);
      return caught.length === 0 || caught.some((type) => thrown instanceof (type as Type));
    }),
  );
}

/** Classes, or instances of them, that a decorator of Nest has left. */
function listed(key: string, place: object): readonly (Type | object)[] {
  return (Reflect.getMetadata(key, place) as readonly (Type | object)[] | undefined) ?? [];
}

function tellNative(client: WsClient, body: unknown): void {
  if (isNative(client) && isOpen(client)) client.send(JSON.stringify({ event: 'exception', data: body }));
}

export function end(client: WsClient): void {
  if (isNative(client)) client.close(1013, 'rate limit');
  else client.disconnect(true);
}

/**
 * The client at the other end of a WebSocket. A socket.io client belongs to a namespace: it leaves with the namespace, while
 * its connection may stay. Neither kind has the `destroyed` of Node's streams.
 */
class SocketOfClient implements Client {
  constructor(private readonly client: WsClient) {}

  get gone(): boolean {
    return !isOpen(this.client);
  }

  onGone(listener: () => void): () => void {
    const { client } = this;
    return (isNative(client) ? closing : disconnecting).add(client, listener);
  }
}

function requestOf(client: WsClient): ContextRequest {
  const native = isNative(client);
  const upgrade = native ? connections.get(client)?.upgrade : client.request;
  // oxlint-disable-next-line no-underscore-dangle -- the name is that of ws
  const socket = upgrade?.socket ?? (native ? client._socket : undefined);
  const { headers = {}, method, rawHeaders = [], url } = upgrade ?? {};
  const user = client.user ?? (native ? undefined : client.data?.user) ?? upgrade?.user;
  return {
    headers,
    method,
    rawHeaders,
    url,
    user,
    ...(socket !== undefined && { socket }),
  };
}

/** Whether a call handles a message. The other calls are of `handleConnection`. */
function isMessage(context: ExecutionContext): boolean {
  return Reflect.hasMetadata(MESSAGE, context.getHandler());
}

function clientOf(context: ExecutionContext): WsClient {
  return context.getArgByIndex<WsClient>(0);
}

/** `ws` has the numeric `readyState` of the WebSocket standard; a client of socket.io has none. */
function isNative(client: WsClient): client is NativeClient {
  return typeof (client as Partial<NativeClient>).readyState === 'number';
}

function isUpgrade(value: unknown): value is Upgrade {
  return typeof (value as Partial<Upgrade> | undefined)?.headers === 'object';
}

async function wsPackage(): Promise<WsPackage> {
  try {
    return await import('@nestjs/websockets');
  } catch (error) {
    throw optionalPackageError(error, {
      name: '@nestjs/websockets',
      where: 'RateLimitModule',
      versions: '^11.1.4 || ^12.0.0',
    });
  }
}
