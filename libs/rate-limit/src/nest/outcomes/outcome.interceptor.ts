import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { finalize, type Observable, tap } from 'rxjs';
import { Call } from './outcomes.js';

/**
 * Tells the listeners of `onOutcome` what a handler returns or throws, and when it has ended. It keeps nothing, so that one object
 * serves all applications: the metadata of a handler outlives them.
 */
class OutcomeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = Call.of(context);
    if (call === undefined) return next.handle();
    call.began?.();
    return next.handle().pipe(
      tap({
        next: (value: unknown) => {
          call.value = value;
        },
        error: (error: unknown) => {
          call.error = error;
        },
      }),
      finalize(() => call.ended?.()),
    );
  }
}

export const OUTCOME_INTERCEPTOR: NestInterceptor = new OutcomeInterceptor();
