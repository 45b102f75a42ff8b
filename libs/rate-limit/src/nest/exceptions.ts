import { HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import type { Decision } from '../policy/decision.js';
import { retryAfterSeconds } from '../http/headers.js';

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

/** A request that its policies refused: 429. */
export class RateLimitExceededException extends HttpException {
  constructor(readonly decision: Decision) {
    super(exceededBody(decision), HttpStatus.TOO_MANY_REQUESTS);
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
