import { Catch, type ExceptionFilter, Inject, Injectable, Logger, Optional, type Type } from '@nestjs/common';

/** Provided by `RateLimitModule` for the whole application. */
export const RATE_LIMIT_PRESENT = Symbol('RateLimitModule is imported');

/** Never thrown. */
class Never {}

/**
 * A filter that catches nothing: Nest makes it at boot, wherever a decorator stands, and asks it nothing afterwards. It warns
 * when the module is missing, without which a decorator has no effect. A warning, no error: tests of a controller alone need
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
