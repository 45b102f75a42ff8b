import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { defer, finalize, map, type Observable, tap } from 'rxjs';
import { Call } from '../exchanges/call.js';

/**
 * Reports to a call what its handler returns or throws, and when it ends. The interceptor has no state, so that one object
 * serves all applications: a handler's metadata outlives an application.
 */
class CallInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Call.of(context);
    if (call === undefined) return next.handle();
    let isAnswered = false;
    return defer(() => {
      call.began();
      const handled = next.handle();
      return call.iterates ? handled.pipe(map((value: unknown) => call.returned(value))) : handled;
    }).pipe(
      // `subscribe` and `finalize` of `tap` are not used: they need rxjs 7.3, and Nest allows 7.1.
      tap({
        next: (value: unknown) => {
          isAnswered = true;
          if (!call.iterates) call.returned(value);
        },
        error: (error: unknown) => {
          isAnswered = true;
          call.threw(error);
        },
        complete: () => {
          isAnswered = true;
        },
      }),
      finalize(() => call.handled(!isAnswered)),
    );
  }
}

export const CALL_INTERCEPTOR: NestInterceptor = new CallInterceptor();
