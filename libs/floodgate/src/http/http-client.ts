import { type Client, type Emitter, EventWatch } from '../holds/waiting/client.js';
import type { HttpRequest } from './request.js';

/** What closes with a request: Node's response, its stream in HTTP/2, or its connection. */
export interface HttpEnd extends Emitter {
  readonly destroyed?: boolean;
  readonly writableEnded?: boolean;
  /** A stream of HTTP/2 that was reset is closed before it is destroyed. */
  readonly closed?: boolean;
}

const closing = new EventWatch('close');

/** The client that waits for the answer until one of these objects closes. */
export class StreamClient implements Client {
  constructor(private readonly ends: readonly HttpEnd[]) {}

  get gone(): boolean {
    // An answer that was sent before the guard is done, by a timeout for example, is not waited for either.
    return this.ends.some(isOver);
  }

  onGone(listener: () => void): () => void {
    const watches = this.ends.map((end) => closing.add(end, listener));
    return () => watches.forEach((unwatch) => unwatch());
  }
}

/**
 * The client that waits for the answer to an HTTP request. The response closes, or the connection: only the connection closes
 * for a pipelined request that is not the next to be answered. In HTTP/2 a connection carries many requests, so that their
 * streams count instead.
 *
 * @param response Node's, or the framework's around it; undefined where a request came with an upgrade
 */
export function httpClient(request: HttpRequest, response: unknown): Client {
  const stream = http2Stream(request, response);
  if (stream !== undefined) return new StreamClient([stream]);
  return new StreamClient([nodeResponse(response), connectionOf(request)].filter(isEmitter));
}

/** The stream of an HTTP/2 request; undefined in HTTP/1. */
export function http2Stream(request: HttpRequest, response: unknown): HttpEnd | undefined {
  const { httpVersionMajor = 1, stream } = request.raw ?? request;
  if (httpVersionMajor < 2) return undefined;
  const found = (nodeResponse(response) as { readonly stream?: unknown } | undefined)?.stream ?? stream;
  return isEmitter(found) ? found : undefined;
}

/** Whether the headers of a response have been sent, by a timeout for example: it takes no others. */
export function hasBegun(response: unknown): boolean {
  return (nodeResponse(response) as { readonly headersSent?: boolean } | undefined)?.headersSent === true;
}

/** Whether all of a response has been handed over: its client waits for nothing else. */
export function isComplete(response: unknown): boolean {
  return (nodeResponse(response) as HttpEnd | undefined)?.writableEnded === true;
}

/** Node's response, which Fastify wraps. */
export function nodeResponse(response: unknown): unknown {
  return (response as { readonly raw?: unknown } | undefined)?.raw ?? response;
}

/** The connection of an HTTP/1 request. */
export function connectionOf(request: HttpRequest): HttpEnd | undefined {
  const { socket } = request.raw ?? request;
  return isEmitter(socket) ? socket : undefined;
}

function isOver({ destroyed, writableEnded, closed }: HttpEnd): boolean {
  return destroyed === true || writableEnded === true || closed === true;
}

function isEmitter(value: unknown): value is HttpEnd {
  return typeof (value as Partial<Emitter> | null | undefined)?.off === 'function';
}
