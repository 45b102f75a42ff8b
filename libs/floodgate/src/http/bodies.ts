import type { Decision } from '../policy/decision.js';
import { retryAfterSeconds } from './headers/retry-after.js';

/** The body of a 429. */
export interface RateLimitExceededBody {
  readonly statusCode: 429;
  readonly error: 'rate_limit_exceeded';
  readonly message: string;
  /** Whole seconds, as in the `Retry-After` header; null when the request can never pass, as under a limit of 0, or an override blocks the client without an end. */
  readonly retry_after: number | null;
  /** Milliseconds, exact; null as `retry_after` is. */
  readonly retry_after_ms: number | null;
  /** The name of the policy that rejects for the longest time. */
  readonly policy: string;
  /** Present where the wait is an estimate: what the request lacks may be refunded or released at any time. */
  readonly estimated?: true;
}

/** The body of a 503. */
export interface RateLimitUnavailableBody {
  readonly statusCode: 503;
  readonly error: 'rate_limit_unavailable';
  readonly message: string;
  /** Whole seconds, as in the `Retry-After` header. */
  readonly retry_after: number;
}

/** The body of a 503 of a process that sheds load. */
export interface RateLimitShedBody {
  readonly statusCode: 503;
  readonly error: 'load_shed';
  readonly message: string;
  /** Whole seconds, as in the `Retry-After` header. */
  readonly retry_after: number;
}

/** The body of a 401. */
export interface RateLimitIdentityMissingBody {
  readonly statusCode: 401;
  readonly error: 'rate_limit_identity_missing';
  readonly message: string;
  /** The name of the policy that counts the identity. */
  readonly policy: string;
}

/** The body of a 403. */
export interface RateLimitAddressBlockedBody {
  readonly statusCode: 403;
  readonly error: 'rate_limit_address_blocked';
  readonly message: string;
}

export function addressBlockedBody(): RateLimitAddressBlockedBody {
  return {
    statusCode: 403,
    error: 'rate_limit_address_blocked',
    message: 'Requests from this address are blocked',
  };
}

/** @param decision a rejection */
export function exceededBody({ policies, retryAfterMs, decidedBy }: Decision): RateLimitExceededBody {
  const rejecting = policies.find((policy) => !policy.allowed && policy.retryAfterMs === retryAfterMs);
  const seconds = retryAfterMs === null ? null : retryAfterSeconds(retryAfterMs);
  return {
    statusCode: 429,
    error: 'rate_limit_exceeded',
    message:
      seconds === null
        ? decidedBy === 'override'
          ? 'The client is blocked'
          : rejecting?.limit === 0
            ? 'The rate limit is 0'
            : 'The request takes more than its rate limit ever allows'
        : `Too many requests, retry in ${seconds} second${seconds === 1 ? '' : 's'}`,
    retry_after: seconds,
    retry_after_ms: retryAfterMs,
    policy: rejecting?.policy ?? '',
    ...(rejecting?.estimated && { estimated: true }),
  };
}

/** @param retryAfter whole seconds */
export function unavailableBody(message: string, retryAfter: number): RateLimitUnavailableBody {
  return { statusCode: 503, error: 'rate_limit_unavailable', message, retry_after: retryAfter };
}

/** What a request hears that a process rejects because it cannot keep up. */
export const SHED_MESSAGE = 'The server is overloaded';

/** @param retryAfter whole seconds */
export function shedBody(retryAfter: number): RateLimitShedBody {
  return { statusCode: 503, error: 'load_shed', message: SHED_MESSAGE, retry_after: retryAfter };
}

/** @param policy the name of the policy that counts the identity */
export function identityMissingBody(policy: string): RateLimitIdentityMissingBody {
  return {
    statusCode: 401,
    error: 'rate_limit_identity_missing',
    message: 'The request has no identity that the rate limit counts',
    policy,
  };
}
