import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { finalize, Observable } from 'rxjs';
import { asking, markedView, running, type RunningCall } from './viewed-calls.js';

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
