import type { ArgumentsHost } from '@nestjs/common';
import { type Client, clientOf } from 'floodgate';
import { httpClient } from 'floodgate/internal';
import { optionalPackageError, UNSEEN_CLIENT } from 'floodgate/internal-boot';
import type { ContextRequest, RateLimitException } from './context-adapter.js';
import { replyOf } from './fastify-replies.js';
import { rejectionOf } from './rejection.js';

/** The part of `McpContext` of @rekog/mcp-nest that is used here. Its handlers are message handlers of Nest. */
export interface McpCall {
  readonly mcpRequest: object;
  /** The request of Express or Fastify that brought the call; undefined over stdio. */
  getRawRequest(): (ContextRequest & { readonly res?: unknown }) | undefined;
  getArgByIndex(index: number): unknown;
}

/** What the SDK gives to the handler of one request: the fifth argument of `McpContext`. */
interface ServerContext {
  readonly mcpReq?: { readonly signal?: AbortSignal };
}
const SERVER_CONTEXT = 4;

/** The part of @modelcontextprotocol/server that answers. */
export interface McpServerPackage {
  readonly ProtocolError: new (code: number, message: string, data: object) => Error;
}

/** The call of a tool, a resource or a prompt. Nest passes it after the payload. */
export function mcpCallOf(host: ArgumentsHost): McpCall | undefined {
  const given = host.getArgByIndex<Partial<McpCall> | undefined>(1);
  return typeof given?.getRawRequest === 'function' && given.mcpRequest !== undefined ? (given as McpCall) : undefined;
}

/** Whether @rekog/mcp-nest calls a handler of these patterns. */
export function hasMcpPattern(patterns: readonly unknown[]): boolean {
  return patterns.some((pattern) => Object(pattern).mcp !== undefined);
}

/** The HTTP request that brought the call, with what guards of its route have set, such as `user`. Over stdio there is none. */
export function mcpRequest(call: McpCall): ContextRequest {
  return call.getRawRequest() ?? { headers: {} };
}

/** The client leaves when it cancels the call, or closes the connection that waits for the answer. */
export function mcpClient(call: McpCall): Client {
  const { signal } = (call.getArgByIndex(SERVER_CONTEXT) as ServerContext | undefined)?.mcpReq ?? {};
  const cancels = signal === undefined ? UNSEEN_CLIENT : clientOf(signal);
  const request = call.getRawRequest();
  if (request === undefined) return cancels;
  const waits = httpClient(request, request.res ?? replyOf(request));
  return {
    get gone() {
      return cancels.gone || waits.gone;
    },
    onGone(listener) {
      const watches = [cancels.onGone(listener), waits.onGone(listener)];
      return () => watches.forEach((unwatch) => unwatch());
    },
  };
}

export async function mcpServerPackage(): Promise<McpServerPackage> {
  try {
    return await import('@modelcontextprotocol/server');
  } catch (error) {
    throw optionalPackageError(error, {
      name: '@modelcontextprotocol/server',
      where: 'RateLimitModule',
      versions: '^2.0.0',
    });
  }
}

/**
 * A rejection as an error of JSON-RPC, whose code is the status in HTTP: the Model Context Protocol asks for codes outside the range
 * that JSON-RPC reserves (https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes). Its data say what an agent may
 * do: wait `retry_after_ms`, or not try again where that is null.
 */
export function mcpError(exception: RateLimitException, { ProtocolError }: McpServerPackage): Error {
  const { reason, policy, retryAfterMs } = rejectionOf(exception);
  const wait = retryAfterMs === null ? null : Math.ceil(retryAfterMs);
  const data = { reason, ...(policy !== undefined && { policy }), retry_after_ms: wait };
  return new ProtocolError(exception.getStatus(), exception.message, data);
}
