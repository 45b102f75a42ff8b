import { type ArgumentsHost, Catch, Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { LimiterUnavailableError } from '../limiter/errors.js';
import { RateLimitExceededException, RateLimitUnavailableException, toHttpException } from './exceptions.js';
import { setDecisionHeaders, setRetryAfter } from './http-answer.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';

type Caught = RateLimitExceededException | RateLimitUnavailableException | LimiterUnavailableError;

/**
 * Answers the exceptions that the application throws itself, after `RateLimiter.consume` for example, with the headers that
 * the guard sets. An error of the limiter that a handler does not catch is a 503, as in the guard. In other contexts their
 * adapters answer.
 *
 * Every filter of the application comes first: Nest searches its list from the end, and this filter stands at the front. With
 * `APP_FILTER` it would stand behind the filters of the root module.
 */
@Injectable()
@Catch(RateLimitExceededException, RateLimitUnavailableException, LimiterUnavailableError)
export class RateLimitExceptionFilter extends BaseExceptionFilter {
  constructor(
    @Inject(RateLimitRuntime) private readonly runtime: RateLimitRuntime,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Inject(ApplicationConfig) application: ApplicationConfig,
  ) {
    super();
    application.getGlobalFilters().unshift(this);
  }

  override catch(caught: Caught, host: ArgumentsHost): unknown {
    const exception = toHttpException(caught) as RateLimitExceededException | RateLimitUnavailableException;
    // Nest's handlers of other protocols go on as without a filter when one returns nothing.
    if (host.getType() !== 'http') return this.runtime.contexts.of(host.getType())?.caught?.(exception, host);
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.getArgByIndex(1);
    if (!RateLimitExceededException.isAnswered(exception) && httpAdapter.isHeadersSent(response) !== true) {
      if (exception instanceof RateLimitUnavailableException) {
        setRetryAfter(httpAdapter, response, exception.retryAfter);
      } else {
        setDecisionHeaders(httpAdapter, response, exception.decision, this.runtime.options);
      }
    }
    super.catch(exception, host);
    return undefined;
  }
}
