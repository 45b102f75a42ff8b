import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { HttpEnd } from 'floodgate/internal';
import { optionalPackageError, StreamClient } from 'floodgate/internal-boot';
import type { ContextAdapter, ContextRequest, RateLimitException } from './context-adapter.js';
import {
  hasMcpPattern,
  mcpCallOf,
  mcpClient,
  mcpError,
  mcpRequest,
  type McpServerPackage,
  mcpServerPackage,
} from './mcp.js';
import { answersItself, GrpcClient, grpcCallOf, grpcRequest, grpcStatus, StreamCallExchange } from './grpc.js';

/** The metadata key of `@MessagePattern`, `@EventPattern` and `@GrpcMethod` on methods. */
const PATTERN = 'microservices:pattern';
const KIND = 'microservices:handler_type';
/** `PatternHandler.EVENT` of @nestjs/microservices. */
const EVENT = 2;

/** The methods of the transports' contexts: each context has some of them. */
interface TransportContext {
  /** TCP: a JSON socket around Node's. */
  getSocketRef?(): { readonly netSocket?: HttpEnd & { readonly remoteAddress?: string } };
  /** NATS. */
  getHeaders?(): unknown;
}

/** The part of @nestjs/microservices that answers. */
interface Microservices {
  readonly RpcException: new (payload: string | object) => Error;
  readonly BaseRpcExceptionFilter: new () => { catch(exception: unknown, host: ArgumentsHost): unknown };
}

/**
 * Handlers of messages, events and gRPC calls, over each transport of @nestjs/microservices, and of the tools, resources and prompts
 * of @rekog/mcp-nest. Over TCP and gRPC a message has the address of its connection, and a tool that of its HTTP request. Over a
 * broker (Redis, NATS, RabbitMQ, Kafka, MQTT) it has none.
 */
export function rpcContext(): ContextAdapter {
  let loaded: Microservices | undefined;
  let mcp: McpServerPackage | undefined;
  let hasMcp = false;
  const payloadOf = (exception: RateLimitException, host: ArgumentsHost): string | object => {
    const call = grpcCallOf(host);
    if (call !== undefined) return grpcStatus(exception, call);
    return mcp !== undefined && mcpCallOf(host) !== undefined ? mcpError(exception, mcp) : exception.getResponse();
  };
  return {
    type: 'rpc',
    handlers: 'a message handler',
    place: 'controllers',
    isHandler(_, handler) {
      const patterns = Reflect.getMetadata(PATTERN, handler) as readonly unknown[] | undefined;
      if (patterns === undefined) return false;
      hasMcp ||= hasMcpPattern(patterns);
      return true;
    },
    request,
    client(context) {
      const call = grpcCallOf(context);
      if (call !== undefined) return new GrpcClient(call);
      const tool = mcpCallOf(context);
      if (tool !== undefined) return mcpClient(tool);
      const socket = socketOf(context);
      return socket && new StreamClient([socket]);
    },
    exchange: (context, call, client) =>
      answersItself(context) ? new StreamCallExchange(context, call, client) : undefined,
    prepare: async () => {
      loaded = await microservices();
      if (hasMcp) mcp = await mcpServerPackage();
    },
    // Nest logs each RpcException of an event, because no client receives it: a flood of events would flood the log. A handler
    // that answers its call itself has a filter.
    toError: (exception, context) =>
      loaded === undefined || isEvent(context) || answersItself(context)
        ? exception
        : new loaded.RpcException(payloadOf(exception, context)),
    caught(exception, host) {
      if (loaded === undefined) return undefined;
      if (answersItself(host)) return answer(exception, host);
      return new loaded.BaseRpcExceptionFilter().catch(new loaded.RpcException(payloadOf(exception, host)), host);
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

/** Ends a call of `@GrpcStreamCall`. Nest would not handle an error of the handler, which would end the process. */
function answer(exception: RateLimitException, host: ArgumentsHost): unknown {
  const call = grpcCallOf(host)!;
  const callback = host.getArgByIndex<((status: object) => void) | undefined>(1);
  const status = grpcStatus(exception, call);
  // A call without a stream of answers has a callback for its one answer.
  if (typeof callback === 'function') callback(status);
  else call.emit('error', status);
  // Nest takes a promise of undefined as an answer, but not undefined itself.
  return Promise.resolve();
}

function request(context: ExecutionContext): ContextRequest {
  const call = grpcCallOf(context);
  if (call !== undefined) return grpcRequest(call);
  const tool = mcpCallOf(context);
  if (tool !== undefined) return mcpRequest(tool);
  const socket = socketOf(context);
  const headers = headersOf(transportOf(context)?.getHeaders?.());
  return socket === undefined ? { headers } : { headers, socket };
}

function transportOf(context: ExecutionContext): TransportContext | undefined {
  return context.getArgByIndex<TransportContext | undefined>(1);
}

function socketOf(context: ExecutionContext): (HttpEnd & { readonly remoteAddress?: string }) | undefined {
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
