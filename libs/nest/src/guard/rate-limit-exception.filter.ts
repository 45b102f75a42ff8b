import { type ArgumentsHost, Catch } from '@nestjs/common';
import { type ApplicationConfig, BaseExceptionFilter, type HttpAdapterHost } from '@nestjs/core';
import { LimiterUnavailableError } from 'floodgate';
import { type Answer, type HttpRequest, shown } from 'floodgate/internal';
import {
  addressBlockedProblem,
  andThen,
  answerOf,
  exceededProblem,
  identityMissingProblem,
  isPromise,
  nodeResponse,
  PROBLEM_JSON,
  unavailableProblem,
} from 'floodgate/internal-boot';
import {
  isForNobody,
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitUnavailableException,
  toHttpException,
} from '../exceptions/exceptions.js';
import { setDecisionHeaders, setHeader, setRetryAfter } from './http-answer.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { ProblemFunction } from '../types.js';
import { RateLimitLogger } from '../handlers/logger.js';

type Answered =
  | RateLimitExceededException
  | RateLimitUnavailableException
  | RateLimitIdentityMissingException
  | RateLimitAddressBlockedException;
type Caught = Answered | LimiterUnavailableError;

/**
 * Answers rejections: those of the guard and of the middleware, and the exceptions that the application throws itself, after
 * `RateLimiter.consume` for example, which get the headers that the guard sets. An error of the limiter that a handler does not
 * catch is a 503, as in the guard. With the option `problem` the bodies are problem details. In other contexts their adapters
 * answer.
 *
 * Every filter of the application comes first: Nest searches its list from the end, and this filter stands at the front. With
 * `APP_FILTER` it would stand behind the filters of the root module.
 */
@Catch(
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitUnavailableException,
  RateLimitIdentityMissingException,
  LimiterUnavailableError,
)
export class RateLimitExceptionFilter extends BaseExceptionFilter {
  constructor(
    private readonly runtime: RateLimitRuntime,
    protected override readonly httpAdapterHost: HttpAdapterHost,
    application: ApplicationConfig,
  ) {
    super();
    application.getGlobalFilters().unshift(this);
  }

  override catch(caught: Caught, host: ArgumentsHost): unknown {
    const exception = toHttpException(caught) as Answered;
    // In other protocols, Nest continues as without a filter if the filter returns undefined.
    if (host.getType() !== 'http') return this.runtime.contexts.of(host.getType())?.caught?.(exception, host);
    this.answer(exception, host);
    return undefined;
  }

  private answer(exception: Answered, host: ArgumentsHost): void {
    const { httpAdapter } = this.httpAdapterHost;
    const response: unknown = host.getArgByIndex(1);
    if (httpAdapter.isHeadersSent(response) === true) return super.catch(exception, host);
    // A response costs several times what the decision does, and thousands of clients may leave at once.
    if (isForNobody(exception) && isClosed(response)) return;
    if (exception instanceof RateLimitUnavailableException) {
      setRetryAfter(httpAdapter, response, exception.retryAfter);
    } else if (exception instanceof RateLimitExceededException && !RateLimitExceededException.isAnswered(exception)) {
      setDecisionHeaders(httpAdapter, response, exception.decision, this.runtime.headers);
    }
    const { problem } = this.runtime.options;
    if (problem === false) return super.catch(exception, host);
    if (typeof problem !== 'function' || !(exception instanceof RateLimitExceededException)) {
      return this.send(exception, host, JSON.stringify(problemOf(exception)));
    }
    const body = this.runtime.parts.functions.call(
      'problem',
      'The problem function failed, the answer has the standard members',
      () => bodyBy(problem, exception, host),
      () => JSON.stringify(problemOf(exception)),
    );
    if (!isPromise(body)) return this.send(exception, host, body);
    body.then((text) => this.send(exception, host, text)).catch((error: unknown) => new RateLimitLogger().error(error));
  }

  /** Sends text: for an object the platforms choose a content type of their own. */
  private send(exception: Answered, host: ArgumentsHost, body: string): void {
    const { httpAdapter } = this.httpAdapterHost;
    const response: unknown = host.getArgByIndex(1);
    if (httpAdapter.isHeadersSent(response) === true) return;
    setHeader(httpAdapter, response, 'Content-Type', PROBLEM_JSON);
    httpAdapter.reply(response, body, exception.getStatus());
  }
}

function isClosed(response: unknown): boolean {
  return (nodeResponse(response) as { readonly destroyed?: boolean }).destroyed === true;
}

function problemOf(exception: Answered): object {
  if (exception instanceof RateLimitExceededException) return exceededProblem(exception.decision);
  if (exception instanceof RateLimitIdentityMissingException) return identityMissingProblem(exception.policy);
  if (exception instanceof RateLimitAddressBlockedException) return addressBlockedProblem();
  return unavailableProblem(exception.message, exception.retryAfter);
}

function bodyBy(
  problem: ProblemFunction,
  { decision }: RateLimitExceededException,
  host: ArgumentsHost,
): Answer<string> {
  return andThen(answerOf(problem(decision, host.getArgByIndex<HttpRequest>(0), host)), bodyOf);
}

/** @throws {TypeError} when JSON cannot represent the members as an object */
function bodyOf(members: unknown): string {
  const body: unknown =
    typeof members === 'object' && members !== null && !Array.isArray(members) ? JSON.stringify(members) : undefined;
  // An object may have a toJSON that returns anything.
  if (typeof body === 'string' && body.startsWith('{')) return body;
  throw new TypeError(`it must return an object of members, got ${shown(members)}`);
}
