import { type Emitter, EventWatch } from '../holds/waiting/client.js';
import { connectionOf, http2Stream, nodeResponse } from './http-client.js';
import type { HttpRequest } from './request.js';

/** How a response ended. */
export interface ResponseEnd {
  /** Undefined where nothing was sent. */
  readonly status: number | undefined;
  /** Whether the client left before all of the response was handed to the system. */
  readonly aborted: boolean;
}

/** Node's response of HTTP/1, or the stream of HTTP/2. */
interface Sending extends Emitter {
  readonly writableFinished?: boolean;
  readonly destroyed?: boolean;
  /** HTTP/2: whether the stream was reset before the response had ended. */
  readonly aborted?: boolean;
  /** HTTP/2: not 0 for a stream that was reset. */
  readonly rstCode?: number;
  /** HTTP/2: whether the stream is over, which it may be before it is destroyed. */
  readonly closed?: boolean;
}

interface Head {
  readonly statusCode: number;
  readonly headersSent: boolean;
  /** HTTP/1: null for a pipelined request that is not the next to be answered. */
  readonly socket?: unknown;
}

// One listener each, however many fields of an operation wait for the same response.
const finishing = new EventWatch('finish');
const closing = new EventWatch('close');
const aborting = new EventWatch('aborted');
const ending = new EventWatch('end');

/**
 * Calls `ended` once: when the response has been sent, or when its client leaves before. If it has ended already, at once.
 *
 * @param response Node's, or the framework's around it
 */
export function onResponseEnd(request: HttpRequest, response: unknown, ended: (end: ResponseEnd) => void): void {
  const head = nodeResponse(response) as Head;
  const stream: Sending | undefined = http2Stream(request, response);
  // Node's response of HTTP/2 emits 'finish' for a stream that its client has reset, too: the stream alone tells the difference.
  const sending = stream ?? (head as unknown as Sending);
  const wasReset = (): boolean => sending.aborted === true || (sending.rstCode ?? 0) !== 0;
  const end = (aborted: boolean): void => {
    for (const unwatch of watches) unwatch();
    ended({ status: head.headersSent ? head.statusCode : undefined, aborted });
  };
  const finished = (): void => end(wasReset());
  const closed = (): void => end(sending.writableFinished !== true || wasReset());
  let watches: readonly (() => void)[] = [];
  // A response that waits behind another one of its connection does not close with it.
  const connection = stream === undefined && head.socket === null ? connectionOf(request) : undefined;
  const isOver = sending.destroyed === true || (stream !== undefined && sending.closed === true);
  if (sending.writableFinished === true || isOver || connection?.destroyed === true) {
    closed();
    return;
  }
  watches = [finishing.add(sending, finished), closing.add(sending, closed)];
  if (connection !== undefined) watches = [...watches, closing.add(connection, closed)];
  if (stream === undefined) return;
  // A stream that its client resets with NO_ERROR, while data waits to be sent, emits neither before the connection closes. Node
  // ends its request then, and emits 'aborted' where the handler has not written all of the response.
  const requestEnded = (): void => {
    if (sending.closed === true) closed();
  };
  watches = [...watches, aborting.add(sending, closed), ending.add(sending, requestEnded)];
}
