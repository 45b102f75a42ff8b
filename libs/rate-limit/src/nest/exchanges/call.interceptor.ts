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
      const handled = next.handle();
      return call.iterates ? handled.pipe(map((value: unknown) => call.returned(value))) : handled;
    }).pipe(
      // Neither `subscribe` nor `finalize` of it: rxjs has them from 7.3 on, and Nest takes 7.1.
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
