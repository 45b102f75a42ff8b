import type { Decision } from '../policy/decision.js';
import { addressBlockedBody, exceededBody, identityMissingBody, unavailableBody } from './bodies.js';

/** The media type of problem details, RFC 9457, section 6.1. */
export const PROBLEM_JSON = 'application/problem+json';

const REGISTRY = 'https://iana.org/assignments/http-problem-types';

/** The problem types of draft-ietf-httpapi-ratelimit-headers-11, section 5, and the one without a type of RFC 9457, section 4.2.1. */
export const PROBLEM_TYPES = {
  quotaExceeded: { type: `${REGISTRY}#quota-exceeded`, title: 'Quota Exceeded', status: 429 },
  reducedCapacity: { type: `${REGISTRY}#temporary-reduced-capacity`, title: 'Temporary Reduced Capacity', status: 503 },
  unauthorized: { type: 'about:blank', title: 'Unauthorized', status: 401 },
  forbidden: { type: 'about:blank', title: 'Forbidden', status: 403 },
} as const;

/** The members of every problem, RFC 9457, section 3.1. */
interface Problem {
  /** A URI that names the type of the problem. */
  readonly type: string;
  readonly title: string;
  /** The status of the response. */
  readonly status: number;
  readonly detail: string;
}

/** The problem details of a 429. */
export interface RateLimitExceededProblem extends Problem {
  readonly status: 429;
  /** The names of the policies that reject. */
  readonly 'violated-policies': readonly string[];
  /** Whole seconds, as in the `Retry-After` header; null when the request can never pass. */
  readonly 'retry-after': number | null;
  /** Milliseconds, exact; null when the request can never pass. */
  readonly 'retry-after-ms': number | null;
  /** Present where the wait is an estimate, as in `RateLimitExceededBody`. */
  readonly estimated?: true;
}

/** The problem details of a 503. */
export interface RateLimitUnavailableProblem extends Problem {
  readonly status: 503;
  /** Always empty: no policy has rejected the request. */
  readonly 'violated-policies': readonly string[];
  /** Whole seconds, as in the `Retry-After` header. */
  readonly 'retry-after': number;
}

/** The problem details of a 401. */
export interface RateLimitIdentityMissingProblem extends Problem {
  readonly status: 401;
  /** The name of the policy that counts the identity. */
  readonly policy: string;
}

/** The problem details of a 403. */
export interface RateLimitAddressBlockedProblem extends Problem {
  readonly status: 403;
}

export function addressBlockedProblem(): RateLimitAddressBlockedProblem {
  return { ...PROBLEM_TYPES.forbidden, detail: addressBlockedBody().message };
}

/** @param decision a rejection */
export function exceededProblem(decision: Decision): RateLimitExceededProblem {
  const { message, retry_after, retry_after_ms, estimated } = exceededBody(decision);
  return {
    ...PROBLEM_TYPES.quotaExceeded,
    detail: message,
    'violated-policies': decision.policies.filter(({ allowed }) => !allowed).map(({ policy }) => policy),
    'retry-after': retry_after,
    'retry-after-ms': retry_after_ms,
    ...(estimated && { estimated }),
  };
}

/** @param retryAfter whole seconds */
export function unavailableProblem(message: string, retryAfter: number): RateLimitUnavailableProblem {
  const { message: detail, retry_after } = unavailableBody(message, retryAfter);
  return { ...PROBLEM_TYPES.reducedCapacity, detail, 'violated-policies': [], 'retry-after': retry_after };
}

/** @param policy the name of the policy that counts the identity */
export function identityMissingProblem(policy: string): RateLimitIdentityMissingProblem {
  return { ...PROBLEM_TYPES.unauthorized, detail: identityMissingBody(policy).message, policy };
}
