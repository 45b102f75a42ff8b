import type { AbstractHttpAdapter } from '@nestjs/core';
import { rateLimitHeaders, retryAfterSeconds } from '../http/headers.js';
import type { Decision } from '../policy/decision.js';
import type { CheckedOptions } from './options/check-options.js';

/** Sets the headers that the module's options ask for on the response to an allowed or rejected request. */
export function setDecisionHeaders(
  adapter: AbstractHttpAdapter,
  response: unknown,
  decision: Decision,
  { headers }: CheckedOptions,
): void {
  // An exception of the application may carry a decision without policies.
  if (headers && decision.policies.length > 0) {
    const { limit, remaining, reset } = rateLimitHeaders(decision, Date.now());
    adapter.setHeader(response, 'X-RateLimit-Limit', limit);
    adapter.setHeader(response, 'X-RateLimit-Remaining', remaining);
    adapter.setHeader(response, 'X-RateLimit-Reset', reset);
  }
  if (!decision.allowed && decision.retryAfterMs !== null) {
    adapter.setHeader(response, 'Retry-After', String(retryAfterSeconds(decision.retryAfterMs)));
  }
}

/** @param seconds whole seconds after which the client may try again */
export function setRetryAfter(adapter: AbstractHttpAdapter, response: unknown, seconds: number): void {
  adapter.setHeader(response, 'Retry-After', String(seconds));
}
