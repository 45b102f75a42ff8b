import {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitShedException,
} from '../exceptions/exceptions.js';
import type { RateLimitException } from './context-adapter.js';

/** Why a call was rejected, in words for programs. */
export type RejectionReason =
  | 'RATE_LIMIT_EXCEEDED'
  | 'RATE_LIMIT_IDENTITY_MISSING'
  | 'RATE_LIMIT_ADDRESS_BLOCKED'
  | 'LOAD_SHED'
  | 'RATE_LIMIT_UNAVAILABLE';

/** What a protocol with errors of its own says of a rejection. */
export interface Rejection {
  readonly reason: RejectionReason;
  readonly policy?: string;
  /** Null: a retry does not help. */
  readonly retryAfterMs: number | null;
}

export function rejectionOf(exception: RateLimitException): Rejection {
  if (exception instanceof RateLimitExceededException) {
    const { policy } = exception.getResponse() as { readonly policy: string };
    return { reason: 'RATE_LIMIT_EXCEEDED', policy, retryAfterMs: exception.decision.retryAfterMs };
  }
  if (exception instanceof RateLimitIdentityMissingException) {
    return { reason: 'RATE_LIMIT_IDENTITY_MISSING', policy: exception.policy, retryAfterMs: null };
  }
  if (exception instanceof RateLimitAddressBlockedException) {
    return { reason: 'RATE_LIMIT_ADDRESS_BLOCKED', retryAfterMs: null };
  }
  const reason = exception instanceof RateLimitShedException ? 'LOAD_SHED' : 'RATE_LIMIT_UNAVAILABLE';
  return { reason, retryAfterMs: exception.retryAfter * 1000 };
}
