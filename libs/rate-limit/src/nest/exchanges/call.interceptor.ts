import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { defer, finalize, map, type Observable, tap } from 'rxjs';
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
    return defer(() => {
      call.began();
      return next.handle();
    }).pipe(
      map((value: unknown) => {
        isAnswered = true;
        return call.returned(value);
      }),
      tap({
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
