import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { map, type Observable, tap } from 'rxjs';
import { Call } from './call.js';

/**
 * Tells a call what its handler returns or throws, and when it has ended. It keeps nothing, so that one object serves all
 * applications: the metadata of a handler outlives them.
 */
class CallInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Call.of(context);
    if (call === undefined) return next.handle();
    let isAnswered = false;
    const answered = (): void => {
      isAnswered = true;
    };
    const handled = next.handle();
    const values = call.iterates ? handled.pipe(map((value: unknown) => call.returned(value))) : handled;
    // One operator for all: each of them is a subscription more.
    return values.pipe(
      tap({
        subscribe: () => call.began(),
        next: (value: unknown) => {
          isAnswered = true;
          if (!call.iterates) call.returned(value);
        },
        error: (error: unknown) => {
          isAnswered = true;
          call.threw(error);
        },
        complete: answered,
        finalize: () => call.handled(!isAnswered),
      }),
    );
  }
}

export const CALL_INTERCEPTOR: NestInterceptor = new CallInterceptor();
