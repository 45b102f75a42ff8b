import { AsyncLocalStorage } from 'node:async_hooks';
import type { ArgumentsHost, CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { finalize, Observable } from 'rxjs';
import { callOf } from '../contexts/graphql.js';
import type { ContextView } from '../contexts/context-view.js';

const VIEW = Symbol('rate limit view');

/** A call whose handler runs. */
interface RunningCall {
  readonly handler: object;
  view: ContextView | undefined;
}

/** The handlers with a parameter for their decision. A handler outlives an application. */
const asking = new WeakSet<object>();
const running = new AsyncLocalStorage<RunningCall>();
/** The calls of asking resolvers. */
const resolving = new WeakMap<object, ContextView>();

/**
 * Lets a handler of another context than HTTP find its call. Nest gives guards and interceptors one array of arguments, and
 * parameters a copy of it. What the copy contains need not belong to one call alone: messages of a WebSocket share its client.
 *
 * @returns the interceptor that the handler needs; undefined for a resolver, since Nest may call fields without interceptors
 */
export function letAsk(handler: object, contextType: string): NestInterceptor | undefined {
  asking.add(handler);
  return contextType === 'graphql' ? undefined : INTERCEPTOR;
}

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

function markedView(host: ArgumentsHost): ContextView | undefined {
  return (host.getArgs() as { readonly [VIEW]?: ContextView })[VIEW];
}

/** Has no state, so that one object serves all applications. */
const INTERCEPTOR: NestInterceptor = {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const view = markedView(context);
    if (view === undefined) return next.handle();
    return new Observable((subscriber) => {
      const call: RunningCall = { handler: context.getHandler(), view };
      // What the handler leaves behind, such as a timer, keeps the async context, and must not keep the call.
      const forget = (): void => {
        call.view = undefined;
      };
      return running.run(call, () => next.handle().pipe(finalize(forget)).subscribe(subscriber));
    });
  },
};
