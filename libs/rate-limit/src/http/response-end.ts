import { CloseWatch } from '../limiter/close-watch.js';
import type { Closable } from '../limiter/waiting-room.js';
import { closablesOf } from './closables.js';
import type { HttpRequest } from './request.js';

/** How a response ended. */
export interface ResponseEnd {
  /** Undefined where nothing was sent. */
  readonly status: number | undefined;
  /** Whether the connection closed before all of the response was handed to the system. */
  readonly aborted: boolean;
}

/** Node's response, of HTTP/1 or HTTP/2. */
interface NodeResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly writableFinished?: boolean;
  readonly destroyed?: boolean;
  /** Null for a pipelined request that is not the next to be answered. */
  readonly socket?: unknown;
  /** HTTP/2. */
  readonly stream?: { readonly destroyed: boolean };
  on(event: 'finish' | 'close', listener: () => void): unknown;
  off(event: 'finish' | 'close', listener: () => void): unknown;
}

/** The connections of pipelined requests. */
const connections = new CloseWatch();

/**
 * Calls `ended` once: when the response has been sent, or when its connection closes before. If it has ended already, at once.
 *
 * @param response Node's, or the framework's around it
 */
export function onResponseEnd(request: HttpRequest, response: unknown, ended: (end: ResponseEnd) => void): void {
  const raw = ((response as { readonly raw?: unknown }).raw ?? response) as NodeResponse;
  const end = (aborted: boolean): void => {
    raw.off('finish', finished);
    raw.off('close', closed);
    for (const unwatch of watches) unwatch();
    ended({ status: raw.headersSent ? raw.statusCode : undefined, aborted });
  };
  const finished = (): void => end(false);
  const closed = (): void => end(raw.writableFinished !== true);
  let watches: readonly (() => void)[] = [];
  // A response that waits behind another one of its connection does not close with it.
  const others = raw.socket === null ? closablesOf(request, response).filter((one) => one !== (raw as unknown)) : [];
  const isOver = raw.writableFinished === true || raw.destroyed === true || raw.stream?.destroyed === true;
  if (isOver || others.some((one) => one.destroyed === true)) return closed();
  raw.on('finish', finished);
  raw.on('close', closed);
  watches = others.map((one: Closable) => connections.add(one, closed));
}
