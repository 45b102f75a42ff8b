import type { AlgorithmName } from '../algorithms/algorithm.js';
import type { ParsedPolicy } from './parse-policy.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';

/** What one policy said to a request. */
export interface PolicyDecision {
  /** The policy's name; `'default'` when it has none. */
  readonly policy: string;
  readonly algorithm: AlgorithmName;
  /** Its capacity or limit. */
  readonly limit: number;
  /** Whether this policy would let the request pass; only if all of them do is any charged. */
  readonly allowed: boolean;
  /** Requests of cost 1 that would pass now, after this one (of a leaky bucket: free waiting places); 0 to `limit`. */
  readonly remaining: number;
  /** Milliseconds until all of the limit is available again, if nothing else happens; not rounded. */
  readonly resetAfterMs: number;
  /**
   * Milliseconds until the same request would pass, if nothing else happens: just before it is refused, at it allowed. 0 when
   * allowed, null when it never can pass (its cost exceeds the limit). Microseconds / 1000, not rounded.
   */
  readonly retryAfterMs: number | null;
  /** Milliseconds that the request has to wait for its departure slot; 0 but for a leaky bucket. */
  readonly delayMs: number;
}

/** What came out for a request. */
export interface Decision {
  /** True: every policy let it pass and was charged. False: none was charged. */
  readonly allowed: boolean;
  /**
   * `'store'`: the store decided. `'local'`: it could not, and this process did, with its share of the limits. `'open'`: it
   * could not, and `onStoreFailure: 'open'` let the request pass.
   */
  readonly decidedBy: 'store' | 'local' | 'open';
  /** In the order of the policies: all of them, of `'local'` those that are decided locally, of `'open'` none. */
  readonly policies: readonly PolicyDecision[];
  /** Milliseconds: the longest of the refusing policies'; 0 when allowed, null when the request never can pass. */
  readonly retryAfterMs: number | null;
  /** Milliseconds from the answer on that an allowed request has to wait for its departure slot. */
  readonly delayMs: number;
  /** When the store decided, by its clock: milliseconds since 1970, with microseconds behind the point. */
  readonly decidedAtMs: number;
}

const MICROSECONDS = 1000;

/** What a store's verdict means for the policies it was asked about. */
export function decisionOf(
  policies: readonly ParsedPolicy[],
  verdict: Verdict,
  decidedBy: Decision['decidedBy'] = 'store',
): Decision {
  const { allowed, at, charges } = verdict;
  const decisions = [policyDecision(policies[0]!, charges[0]!)];
  let { retryAfter, delay } = charges[0]!;
  for (let i = 1; i < charges.length; i++) {
    const charge = charges[i]!;
    decisions.push(policyDecision(policies[i]!, charge));
    retryAfter = Math.max(retryAfter, charge.retryAfter);
    delay = Math.max(delay, charge.delay);
  }
  return {
    allowed,
    decidedBy,
    policies: decisions,
    retryAfterMs: milliseconds(retryAfter),
    delayMs: allowed ? delay / MICROSECONDS : 0,
    decidedAtMs: at / MICROSECONDS,
  };
}

function policyDecision({ name, algorithm }: ParsedPolicy, charge: ChargeVerdict): PolicyDecision {
  return {
    policy: name,
    algorithm: algorithm.name,
    limit: algorithm.limit,
    allowed: charge.allowed,
    remaining: charge.remaining,
    resetAfterMs: charge.resetAfter / MICROSECONDS,
    retryAfterMs: milliseconds(charge.retryAfter),
    delayMs: charge.delay / MICROSECONDS,
  };
}

function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}
