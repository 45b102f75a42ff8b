import type { ExecutionContext } from '@nestjs/common';
import { onResponseEnd } from '../../http/response-end.js';
import { CloseWatch } from '../../limiter/close-watch.js';
import type { OutcomeListener } from '../../limiter/outcome.js';
import type { Outcome } from '../../policy/outcome.js';
import type { Closable } from '../../limiter/waiting-room.js';
import { ContextView } from '../contexts/context-view.js';
import { requestOf, responseOf } from '../http-context.js';

const CALL = Symbol('rate limit outcome');

/** What the interceptor of a handler tells of one call. */
export class Call {
  error: unknown;
  value: unknown;
  /** The interceptor calls them; undefined where the end comes from somewhere else. */
  began: (() => void) | undefined;
  ended: (() => void) | undefined;

  /** The record of a call that somebody waits for. HTTP has it on the request, other contexts on the array of arguments. */
  static of(context: ExecutionContext): Call | undefined {
    return (keyOf(context) as { readonly [CALL]?: Call })[CALL];
  }

  /** The record of a call, made for the first listener. */
  static for(context: ExecutionContext): Call {
    const key = keyOf(context) as { [CALL]?: Call };
    return (key[CALL] ??= new Call());
  }
}

function keyOf(context: ExecutionContext): object {
  // A view's arguments are those of its context.
  return context.getType<string>() === 'http' ? context.getArgByIndex<object>(0) : context.getArgs();
}

/** The connections of other contexts than HTTP, each with any number of running calls. */
const connections = new CloseWatch();

/**
 * Tells a listener once how the request of a context ends: an HTTP request and a GraphQL operation over HTTP with their response,
 * a gateway's connection when it closes, and any other call with its handler, or when its client leaves.
 *
 * A call whose handler is never called, because another guard rejects it, has no end that anybody could see.
 */
export function onOutcome(context: ExecutionContext, listener: OutcomeListener): void {
  const call = Call.for(context);
  const since = performance.now();
  let isOver = false;
  const end = (status: number | undefined, aborted: boolean): void => {
    if (isOver) return;
    isOver = true;
    const { error, value } = call;
    const outcome: Outcome = { status, error, value, durationMs: performance.now() - since, aborted };
    listener.ended(outcome);
  };
  const response = responseOf(context);
  if (response !== undefined) {
    listener.began?.();
    onResponseEnd(requestOf(context), response, ({ status, aborted }) => end(status, aborted));
    return;
  }
  if (!(context instanceof ContextView)) return;
  const { lasts } = context;
  if (lasts !== undefined) {
    listener.began?.();
    watch(lasts, () => end(undefined, false));
    return;
  }
  const [began, ended] = [call.began, call.ended];
  let unwatch = (): void => {};
  call.began = () => {
    began?.();
    listener.began?.();
    unwatch = watch(context.closables, () => end(undefined, true));
  };
  call.ended = () => {
    ended?.();
    unwatch();
    end(undefined, false);
  };
}

/** Calls `closed` when one of them closes; at once if one has. */
function watch(closables: readonly Closable[], closed: () => void): () => void {
  if (closables.some(({ destroyed }) => destroyed === true)) closed();
  const watches = closables.map((closable) => {
    const unwatch = connections.add(closable, () => {
      unwatch();
      closed();
    });
    return unwatch;
  });
  return () => watches.forEach((unwatch) => unwatch());
}
