import type { ExecutionContext } from '@nestjs/common';
import type { Closable } from '../limiter/waiting-room.js';

/** What Express's and Fastify's requests have in common, as far as the guard needs it. */
export interface HttpRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders?: readonly string[];
  readonly raw?: Pick<HttpRequest, 'rawHeaders' | 'httpVersionMajor' | 'socket'>;
  readonly httpVersionMajor?: number;
  readonly ip?: string;
  readonly socket?: { readonly remoteAddress?: string };
}

// `context.switchToHttp()` makes an object and three functions at each call.

/** The platform's request of an HTTP context. */
export function requestOf(context: ExecutionContext): HttpRequest {
  return context.getArgByIndex<HttpRequest>(0);
}

/** The platform's response of an HTTP context. */
export function responseOf(context: ExecutionContext): unknown {
  return context.getArgByIndex<unknown>(1);
}

/**
 * What closes when nobody waits for the answer any more: the response, and the connection, which alone tells it of a pipelined
 * request whose turn to be answered has not come. In HTTP/2 a connection brings many requests, and each has its stream.
 */
export function closablesOf(context: ExecutionContext): Closable[] {
  const request = requestOf(context);
  const { httpVersionMajor = 1, socket } = request.raw ?? request;
  const response = responseOf(context) as { readonly raw?: unknown } | undefined;
  return [response?.raw ?? response, httpVersionMajor < 2 ? socket : undefined].filter(isClosable);
}

function isClosable(value: unknown): value is Closable {
  return typeof (value as Partial<Closable> | null | undefined)?.off === 'function';
}
