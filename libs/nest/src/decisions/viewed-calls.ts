import { AsyncLocalStorage } from 'node:async_hooks';
import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import { callOf } from '../contexts/graphql.js';
import type { ContextView } from '../contexts/context-view.js';

const VIEW = Symbol('rate limit view');

/** A call whose handler runs. */
export interface RunningCall {
  readonly handler: object;
  view: ContextView | undefined;
}

/** The handlers with a parameter for their decision. A handler outlives an application. */
export const asking = new WeakSet<object>();
/** The call that runs, where a handler asks for its decision. */
export const running = new AsyncLocalStorage<RunningCall>();
/** The calls of asking resolvers. */
const resolving = new WeakMap<object, ContextView>();

/** Remembers a call for as long as its arguments live. */
export function rememberView(context: ExecutionContext, view: ContextView): void {
  (context.getArgs() as { [VIEW]?: ContextView })[VIEW] = view;
  if (context.getType<string>() !== 'graphql' || !asking.has(context.getHandler())) return;
  const call = callOf(context);
  if (call !== undefined) resolving.set(call, view);
}

/** The call of a context other than HTTP, as the guard saw it; undefined if the guard did not limit it. */
export function viewOf(host: ArgumentsHost): ContextView | undefined {
  const marked = markedView(host);
  if (marked !== undefined) return marked;
  if (host.getType<string>() === 'graphql') {
    const call = callOf(host);
    return call && resolving.get(call);
  }
  const call = running.getStore();
  // The host of an exception filter has no handler.
  return call !== undefined && call.handler === (host as Partial<ExecutionContext>).getHandler?.()
    ? call.view
    : undefined;
}

export function markedView(host: ArgumentsHost): ContextView | undefined {
  return (host.getArgs() as { readonly [VIEW]?: ContextView })[VIEW];
}
