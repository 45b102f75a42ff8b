import { RateLimitConfigError } from 'floodgate';
import type { BoundPolicy } from 'floodgate/http';
import { type CountedPolicy, type KeyPrefix, shown } from 'floodgate/internal';
import { bindPolicy, durationToMicroseconds, isName, parsePolicy } from 'floodgate/internal-boot';

/** The numbers of a throttler for one request; times in milliseconds. */
export interface ThrottlerNumbers {
  readonly limit: number;
  readonly ttl: number;
  readonly blockDuration: number;
}

/** The policies that a throttler with such numbers is made of. */
export interface ThrottlerPolicies {
  /** The hits of the last `ttl`; undefined with `limit: 0`, where none passes. */
  readonly hits: BoundPolicy | undefined;
  /** What metrics count in the place of `hits` with `limit: 0`. */
  readonly none: CountedPolicy;
  /** Holds one instant while the client is blocked; undefined where a throttler does not block. */
  readonly block: BoundPolicy | undefined;
  /** Holds the instant at which the period of `X-RateLimit-Reset` began. It never rejects. */
  readonly period: BoundPolicy;
  /** Whether a block can end before the hits that led to it expire. */
  readonly endsEarly: boolean;
}

/** The algorithm of all policies of a throttler. */
export const HITS_ALGORITHM = 'sliding-window-log';
const MAX_LIMIT = 1_000_000;
/** Longer names leave no room for a suffix in the name of a policy. */
const MAX_NAME = 56;
/** A block that ends before its hits expire takes two steps on the store, which must both be over by then. */
const SHORTEST_BLOCK_MS = 1000;
/** Functions can make up any number of limits. */
const MAX_KNOWN = 10_000;

/**
 * Checks a throttler's name.
 *
 * @throws {RateLimitConfigError}
 */
export function checkThrottlerName(name: unknown, where: string): void {
  if (isName(name) && (name as string).length <= MAX_NAME) return;
  throw new RateLimitConfigError(
    where,
    `name must be 1 to ${MAX_NAME} printable characters, got ${shown(name)}`,
    'FG_POLICY_NAME',
  );
}

/**
 * Checks a throttler's numbers; a field that is undefined is left out.
 *
 * @throws {RateLimitConfigError} naming the number, what was given and what would be right
 */
export function checkThrottlerNumbers(numbers: Readonly<Partial<ThrottlerNumbers>>, where: string): void {
  const { limit, ttl, blockDuration } = numbers;
  const fail = (problem: string): never => {
    throw new RateLimitConfigError(where, problem, 'FG_INVALID_POLICY');
  };
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0 && limit <= MAX_LIMIT)) {
    fail(
      `limit must be a whole number from 0 to ${MAX_LIMIT}, got ${shown(limit)}; skipIf and @SkipThrottle leave requests uncounted`,
    );
  }
  if (ttl !== undefined && (durationToMicroseconds(ttl) ?? 0) < 1000) {
    fail(`ttl must be milliseconds from 1, got ${shown(ttl)}; skipIf and @SkipThrottle leave requests uncounted`);
  }
  if (blockDuration === undefined || blockDuration === 0) return;
  if ((durationToMicroseconds(blockDuration) ?? 0) < 1000) {
    fail(`blockDuration must be 0, or milliseconds from 1, got ${shown(blockDuration)}`);
  }
  if (ttl !== undefined && blockDuration < ttl && blockDuration < SHORTEST_BLOCK_MS) {
    fail(
      `blockDuration must be 0 (no block), at least ${SHORTEST_BLOCK_MS} ms or at least the ttl (${ttl} ms), got ${shown(blockDuration)}`,
    );
  }
}

/** Makes the policies of throttlers, once for each name and numbers. */
export class StoragePolicies {
  private readonly known = new Map<string, ThrottlerPolicies>();

  /** @param keyPrefix how keys begin */
  constructor(private readonly keyPrefix: KeyPrefix) {}

  /** @throws {RateLimitConfigError} when a number is wrong */
  of(name: string, limit: number, ttl: number, blockDuration: number): ThrottlerPolicies {
    const id = `${limit} ${ttl} ${blockDuration} ${name}`;
    let policies = this.known.get(id);
    if (policies === undefined) {
      policies = this.make(name, { limit, ttl, blockDuration });
      if (this.known.size >= MAX_KNOWN) this.known.clear();
      this.known.set(id, policies);
    }
    return policies;
  }

  private make(name: string, numbers: ThrottlerNumbers): ThrottlerPolicies {
    const where = `throttler ${shown(name)}`;
    checkThrottlerName(name, where);
    checkThrottlerNumbers(numbers, where);
    const { limit, ttl, blockDuration } = numbers;
    const log = (policy: string, most: number, window: number): BoundPolicy => {
      const parsed = parsePolicy({ name: policy, algorithm: HITS_ALGORITHM, limit: most, window }, where);
      return bindPolicy(parsed, this.keyPrefix, 'throttler', where);
    };
    return {
      none: { name, algorithm: { name: HITS_ALGORITHM } },
      hits: limit === 0 ? undefined : log(name, limit, ttl),
      block: blockDuration === 0 ? undefined : log(`${name} block`, 1, blockDuration),
      // Concurrent requests may both begin a period. A log that is as good as endless takes both.
      period: log(`${name} period`, MAX_LIMIT, ttl),
      endsEarly: blockDuration < ttl,
    };
  }
}
