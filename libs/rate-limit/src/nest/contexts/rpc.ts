import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { Closable } from '../../limiter/waiting-room.js';
import { optionalPackageError } from '../../util/optional-package.js';
import type { ContextAdapter, ContextRequest } from './context-adapter.js';

/** What `@MessagePattern`, `@EventPattern` and `@GrpcMethod` leave on methods. */
const PATTERN = 'microservices:pattern';
const KIND = 'microservices:handler_type';
/** `PatternHandler.EVENT` of @nestjs/microservices. */
const EVENT = 2;

/** What the transports' contexts offer: each of them has some of these methods. */
interface TransportContext {
  /** TCP: a JSON socket around Node's. */
  getSocketRef?(): { readonly netSocket?: Closable & { readonly remoteAddress?: string } };
  /** NATS. */
  getHeaders?(): unknown;
}

/** The part of @nestjs/microservices that answers. */
interface Microservices {
  readonly RpcException: new (payload: string | object) => Error;
  readonly BaseRpcExceptionFilter: new () => { catch(exception: unknown, host: ArgumentsHost): unknown };
}

/**
 * Handlers of messages and events, over each transport of @nestjs/microservices. Over TCP a message has the address of its
 * connection. Over a broker (Redis, NATS, RabbitMQ, Kafka, MQTT) and over gRPC it has none.
 */
export function rpcContext(): ContextAdapter {
  let loaded: Microservices | undefined;
  return {
    type: 'rpc',
    handlers: 'a message handler',
    place: 'controllers',
    isHandler: (_, handler) => Reflect.hasMetadata(PATTERN, handler),
    request,
    closables: (context) => [socketOf(context)].filter((socket) => socket !== undefined),
    prepare: async () => {
      loaded = await microservices();
    },
    // Nest logs each RpcException of an event, because nobody is there to get it: a flood of events would flood the log.
    toError: (exception, context) =>
      loaded === undefined || isEvent(context) ? exception : new loaded.RpcException(exception.getResponse()),
    caught(exception, host) {
      if (loaded === undefined) return undefined;
      return new loaded.BaseRpcExceptionFilter().catch(new loaded.RpcException(exception.getResponse()), host);
    },
  };
}

async function microservices(): Promise<Microservices> {
  try {
    return await import('@nestjs/microservices');
  } catch (error) {
    throw optionalPackageError(error, {
      name: '@nestjs/microservices',
      where: 'RateLimitModule',
      versions: '^11.1.4 || ^12.0.0',
    });
  }
}

function request(context: ExecutionContext): ContextRequest {
  const socket = socketOf(context);
  const headers = headersOf(transportOf(context)?.getHeaders?.());
  return socket === undefined ? { headers } : { headers, socket };
}

function transportOf(context: ExecutionContext): TransportContext | undefined {
  return context.getArgByIndex<TransportContext | undefined>(1);
}

function socketOf(context: ExecutionContext): (Closable & { readonly remoteAddress?: string }) | undefined {
  const transport = transportOf(context);
  return typeof transport?.getSocketRef === 'function' ? transport.getSocketRef()?.netSocket : undefined;
}

/** The headers of a NATS message: `MsgHdrs`, which lists [name, values]. */
function headersOf(given: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof (given as Partial<Iterable<unknown>> | undefined)?.[Symbol.iterator] !== 'function') return headers;
  for (const [name, values] of given as Iterable<readonly [string, readonly string[]]>) {
    headers[name.toLowerCase()] = values[0] ?? '';
  }
  return headers;
}

function isEvent(context: ExecutionContext): boolean {
  return Reflect.getMetadata(KIND, context.getHandler()) === EVENT;
}
