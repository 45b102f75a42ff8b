import type { Closable } from '../limiter/waiting-room.js';
import type { HttpRequest } from './request.js';

/**
 * The objects that close when the client no longer waits for the answer: the response, and the connection. Only the connection
 * closes for a pipelined request that is not the next to be answered. In HTTP/2 a connection carries many requests, so that
 * their streams count instead.
 *
 * @param response Node's, or the framework's around it
 */
export function closablesOf(request: HttpRequest, response: unknown): Closable[] {
  const { httpVersionMajor = 1, socket } = request.raw ?? request;
  const raw = (response as { readonly raw?: unknown } | undefined)?.raw ?? response;
  return [raw, httpVersionMajor < 2 ? socket : undefined].filter(isClosable);
}

function isClosable(value: unknown): value is Closable {
  return typeof (value as Partial<Closable> | null | undefined)?.off === 'function';
}
