import type { Decision } from '../../policy/decision.js';
import { retryAfterSeconds } from './retry-after.js';
import type { Header } from './header.js';

/** The name that gets no suffix. */
const UNNAMED = 'default';

/**
 * The headers of `@nestjs/throttler`: `X-RateLimit-Limit-short`, `X-RateLimit-Remaining-short` and `X-RateLimit-Reset-short`
 * (seconds from now, rounded up) for every policy before the first that rejects, and `Retry-After-short` for that one. The name
 * `default` has no suffix. A character of a name that no header may have becomes a hyphen.
 *
 * Source: `ThrottlerGuard.handleRequest` of `@nestjs/throttler` 6.7.1.
 */
export function throttlerHeaders({ policies }: Decision): readonly Header[] {
  const headers: Header[] = [];
  for (const { policy, allowed, limit, remaining, resetAfterMs, retryAfterMs } of policies) {
    const suffix = throttlerSuffix(policy);
    if (!allowed) {
      // The caller sets the plain Retry-After, which names the longest time of all policies.
      if (suffix !== '' && retryAfterMs !== null) {
        headers.push([`Retry-After${suffix}`, String(retryAfterSeconds(retryAfterMs))]);
      }
      break;
    }
    headers.push(
      [`X-RateLimit-Limit${suffix}`, String(limit)],
      [`X-RateLimit-Remaining${suffix}`, String(remaining)],
      [`X-RateLimit-Reset${suffix}`, String(Math.ceil(resetAfterMs / 1000))],
    );
  }
  return headers;
}

/** What a policy's name appends to the names of its headers. */
export function throttlerSuffix(policy: string): string {
  // Characters of a token, RFC 9110, section 5.6.2.
  return policy === UNNAMED ? '' : `-${policy.replace(/[^\w!#$%&'*+.^`|~-]/g, '-')}`;
}
