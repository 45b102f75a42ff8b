import { Catch, type ExceptionFilter, Inject, Injectable, Optional, type Type } from '@nestjs/common';
import { withHelp } from 'floodgate/internal';
import { RateLimitLogger } from '../handlers/logger.js';

/** Provided by `RateLimitModule` for the whole application. The module may be of another copy of the package. */
export const RATE_LIMIT_PRESENT = Symbol.for('nestjs-floodgate:module-is-imported');

/** No code throws this class. */
class Never {}

/**
 * A filter that catches nothing. Nest creates it at boot wherever a decorator stands, and it costs requests nothing. It warns when
 * the module is missing, because a decorator then has no effect. It does not stop the boot: a test of a controller alone needs
 * no limiter.
 *
 * @param token what the module provides for the whole application
 * @param warning names the decorator and its place, and what would be right
 */
export function presenceCheck(token: symbol, warning: string): Type<ExceptionFilter> {
  @Injectable()
  @Catch(Never)
  class RateLimitPresence implements ExceptionFilter {
    constructor(@Optional() @Inject(token) present: true | undefined) {
      if (present === undefined) new RateLimitLogger().warn(withHelp(warning, 'FG_NOT_LIMITED'));
    }

    catch(): void {}
  }
  return RateLimitPresence;
}
