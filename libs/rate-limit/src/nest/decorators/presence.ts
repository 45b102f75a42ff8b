import { Catch, type ExceptionFilter, Inject, Injectable, Logger, Optional, type Type } from '@nestjs/common';

/** Provided by `RateLimitModule` for the whole application. The module may be of another copy of the package. */
export const RATE_LIMIT_PRESENT = Symbol.for('nestjs-floodgate:module-is-imported');

/** Never thrown. */
class Never {}

/**
 * A filter that catches nothing. Nest creates it at boot wherever a decorator stands, and it costs requests nothing. It warns when
 * the module is missing, because a decorator then has no effect. It does not stop the boot: a test of a controller alone needs
 * no limiter.
 *
 * @param where class and method of the decorator
 */
export function presenceCheck(where: string): Type<ExceptionFilter> {
  @Injectable()
  @Catch(Never)
  class RateLimitPresence implements ExceptionFilter {
    constructor(@Optional() @Inject(RATE_LIMIT_PRESENT) present: true | undefined) {
      if (present !== undefined) return;
      new Logger('RateLimit').warn(
        `${where}: @RateLimit has no effect, because RateLimitModule is not imported: add RateLimitModule.forRoot() to the ` +
          `imports of the root module`,
      );
    }

    catch(): void {}
  }
  return RateLimitPresence;
}
