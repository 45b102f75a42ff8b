import type { Algorithm } from '../algorithms/algorithm.js';
import type { AlgorithmDefinition } from '../algorithms/algorithms.js';
import { type Duration, durationToMicroseconds } from '../algorithms/duration.js';
import { shown } from '../util/config-error.js';

/**
 * Lets each process take tokens for its busy clients ahead of demand, and decide on its own while they last. The limit holds all
 * the same. Needs Redis with its own clock.
 *
 * @example { for: '100ms', max: 200 }
 */
export interface TokenLease {
  /**
   * How far ahead: milliseconds, or text such as `'100ms'`, from 10 ms to 1 min. Of a token bucket it is how long a lease lasts, and
   * the capacity should be at least four times what all processes use in that time. Leases of windows last until the window ends.
   */
  readonly for: Duration;
  /** The tokens of one lease at most: a whole number from 2 to 1,000,000. */
  readonly max: number;
}

/** A `TokenLease` that was checked. */
export interface TokenLeaseTerms {
  /** Microseconds. */
  readonly length: number;
  readonly max: number;
}

const SHORTEST = 10_000;
const LONGEST = 60_000_000;
const FEWEST = 2;
const MOST = 1_000_000;
/** A lease takes at most this part of what is left. */
const PART = 4;
const EXAMPLE = `{ for: '100ms', max: 200 }`;

/**
 * The option `lease` of a policy whose charges are no leases themselves; undefined without it.
 *
 * @param fail throws what is wrong with it
 */
export function readTokenLease(
  { lease, candidate }: { readonly lease?: unknown; readonly candidate?: unknown },
  { name, lend, whyNotLent }: AlgorithmDefinition,
  fail: (problem: string) => never,
): TokenLeaseTerms | undefined {
  if (lease === undefined) return undefined;
  if (lend === undefined) return fail(`lease is not for a ${name}: ${whyNotLent ?? 'it cannot lease tokens'}`);
  if (candidate !== undefined) {
    return fail('lease does not go with candidate, which asks the store about each request: leave one of them out');
  }
  if (typeof lease !== 'object' || lease === null || Array.isArray(lease)) {
    return fail(`lease must be an object such as ${EXAMPLE}, got ${shown(lease)}`);
  }
  const { for: time, max, ...rest } = lease as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) fail(`lease has no option ${unknown}: it must have for and max, as in ${EXAMPLE}`);
  const length = durationToMicroseconds(time);
  if (length === undefined || length < SHORTEST || length > LONGEST) {
    return fail(
      `lease.for must be milliseconds or a duration such as '100ms', from ${SHORTEST / 1000} ms to ${LONGEST / 1000} ms, got ${shown(time)}`,
    );
  }
  if (!Number.isInteger(max) || (max as number) < FEWEST || (max as number) > MOST) {
    return fail(`lease.max must be a whole number from ${FEWEST} to ${MOST}, got ${shown(max)}`);
  }
  return { length, max: max as number };
}

/** The terms as a policy gives them. */
export function givenTerms(terms: TokenLeaseTerms | undefined): TokenLease | undefined {
  return terms && { for: terms.length / 1000, max: terms.max };
}

/** Why a policy cannot lease tokens; undefined when it can, or need not. */
export function whyNotLeased(policy: {
  readonly tokenLease: TokenLeaseTerms | undefined;
  readonly shards: number;
  readonly shadow: boolean;
  readonly block: unknown;
  readonly countIf: unknown;
  readonly settle: unknown;
  readonly cost: unknown;
}): string | undefined {
  if (policy.tokenLease === undefined) return undefined;
  const { cost, tokenLease } = policy;
  if (typeof cost === 'number' && cost > tokenLease.max) {
    return `lease.max must be the cost of a request at least, which is ${cost}, got ${tokenLease.max}`;
  }
  if (policy.shards > 1) return 'lease does not go with shards: choose lease for a busy state, it spares Redis more';
  if (policy.block !== undefined)
    return 'lease does not go with blockFor: a block has to hold in all processes at once';
  if (policy.shadow) return `lease does not go with mode: 'shadow': add it when the policy is enforced`;
  if (policy.countIf !== undefined || policy.settle !== undefined) {
    const option = policy.countIf === undefined ? 'settle' : 'countIf';
    return `lease does not go with ${option}: what is settled after the response has to be charged by the store`;
  }
  return undefined;
}

/** That a policy's lease has no effect, because its limit is small; undefined where it has one. */
export function leaseWithoutEffect({ limit }: Algorithm, cost: unknown): string | undefined {
  const needed = PART * Math.max(FEWEST, typeof cost === 'number' ? cost : 1);
  if (limit >= needed) return undefined;
  return `lease has no effect with a limit of ${limit}: a lease takes at most a quarter of what is left, so it needs ${needed}`;
}
