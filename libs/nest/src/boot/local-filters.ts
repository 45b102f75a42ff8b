import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Injectable, Optional } from '@nestjs/common';
import { LimiterUnavailableError } from 'floodgate';
import type { RateLimitException } from '../contexts/context-adapter.js';
import { wsContext } from '../contexts/ws.js';
import {
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitUnavailableException,
  toHttpException,
} from '../exceptions/exceptions.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

/**
 * Answers rejections in handlers for which Nest calls no global filter. The metadata of a class outlives applications: in one
 * without `RateLimitModule`, Nest makes it without a runtime.
 */
@Injectable()
@Catch(
  RateLimitExceededException,
  RateLimitUnavailableException,
  RateLimitIdentityMissingException,
  LimiterUnavailableError,
)
export class LocalFilter implements ExceptionFilter {
  constructor(@Optional() @Inject(RateLimitRuntime) private readonly runtime?: RateLimitRuntime) {}

  catch(caught: RateLimitException | LimiterUnavailableError, host: ArgumentsHost): unknown {
    const type = host.getType<string>();
    const adapter = this.runtime?.contexts.of(type) ?? (type === 'ws' ? wsContext() : undefined);
    return adapter?.caught?.(toHttpException(caught) as RateLimitException, host);
  }
}
