import { HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import type { Decision } from '../policy/decision.js';
import { retryAfterSeconds } from '../http/headers.js';
import { ClientGoneError, IdentityMissingError } from '../identity/errors.js';
import { LimiterUnavailableError } from '../limiter/errors.js';

/** The body of a 429. */
export interface RateLimitExceededBody {
  readonly statusCode: 429;
  readonly error: 'rate_limit_exceeded';
  readonly message: string;
  /** Whole seconds, as the `Retry-After` header; null when the request never can pass. */
  readonly retry_after: number | null;
  /** Milliseconds, exact; null when the request never can pass. */
  readonly retry_after_ms: number | null;
  /** The name of the policy that refused for the longest. */
  readonly policy: string;
}

/**
 * A request that its policies rejected: 429. An application may throw it itself, with a decision of `RateLimiter.consume`; it
 * then carries the same headers.
 *
 * @example if (!decision.allowed) throw new RateLimitExceededException(decision);
 */
export class RateLimitExceededException extends HttpException {
  #answered = false;

  constructor(readonly decision: Decision) {
    super(exceededBody(decision), HttpStatus.TOO_MANY_REQUESTS);
  }

  /** @internal Notes that the guard has answered: it decides on the headers. */
  static markAnswered(thrown: unknown): void {
    if (typeof thrown === 'object' && thrown !== null && #answered in thrown) thrown.#answered = true;
  }

  /** @internal Whether the headers are set. */
  static isAnswered(exception: object): boolean {
    return #answered in exception && exception.#answered;
  }
}

function exceededBody({ policies, retryAfterMs }: Decision): RateLimitExceededBody {
  const refusing = policies.find((policy) => !policy.allowed && policy.retryAfterMs === retryAfterMs);
  const seconds = retryAfterMs === null ? null : retryAfterSeconds(retryAfterMs);
  return {
    statusCode: 429,
    error: 'rate_limit_exceeded',
    message:
      seconds === null
        ? 'The request takes more than its rate limit ever allows'
        : `Too many requests, retry in ${seconds} second${seconds === 1 ? '' : 's'}`,
    retry_after: seconds,
    retry_after_ms: retryAfterMs,
    policy: refusing?.policy ?? '',
  };
}

/** A request that could not be decided, or not be kept waiting: 503. */
export class RateLimitUnavailableException extends HttpException {
  /** @param retryAfter whole seconds, as the `Retry-After` header */
  constructor(
    message: string,
    readonly retryAfter = 1,
    options?: ErrorOptions,
  ) {
    super(
      { statusCode: 503, error: 'rate_limit_unavailable', message, retry_after: retryAfter },
      HttpStatus.SERVICE_UNAVAILABLE,
      options,
    );
  }
}

/**
 * A request without the identity that a policy counts, where `onMissingIdentity` is `'refuse'`: 401, as an authentication
 * guard answers, so that filters for `UnauthorizedException` see it, too. No 429: nothing was exceeded, and coming back later
 * does not help. Nothing was charged.
 */
export class RateLimitIdentityMissingException extends UnauthorizedException {
  /** @param policy the name of the policy */
  constructor(readonly policy: string) {
    super({
      statusCode: 401,
      error: 'rate_limit_identity_missing',
      message: 'The request does not say who is asking',
      policy,
    });
  }
}

/** The HTTP exception of an error of the engine; every other error as it is. */
export function toHttpException(error: unknown): unknown {
  if (error instanceof IdentityMissingError) return new RateLimitIdentityMissingException(error.policy);
  if (error instanceof LimiterUnavailableError || error instanceof ClientGoneError) {
    const seconds = error instanceof LimiterUnavailableError ? Math.ceil(error.retryAfterMs / 1000) : 1;
    const { cause } = error;
    return new RateLimitUnavailableException(error.message, seconds, cause === undefined ? undefined : { cause });
  }
  return error;
}
