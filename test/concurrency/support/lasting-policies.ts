import type { Identity, Policy, RateLimiter } from 'nestjs-floodgate';

export const USERS: readonly Identity[] = ['ada', 'bea', 'cem'].map((value) => ({ kind: 'user', value }));

/**
 * One policy of each algorithm whose state neither refills nor expires while a test runs, so that the test can count the
 * charges afterwards.
 */
export const LASTING: readonly Policy[] = [
  { name: 'window', algorithm: 'fixed-window', limit: 4000, window: '36500d' },
  { name: 'log', algorithm: 'sliding-window-log', limit: 3000, window: '36500d' },
  { name: 'counter', algorithm: 'sliding-window-counter', limit: 3500, window: '10d' },
  { name: 'tokens', algorithm: 'token-bucket', capacity: 3800, refill: '1/d' },
  { name: 'queue', algorithm: 'leaky-bucket', capacity: 3200, drain: '1/d' },
];

/** The cost that a user has charged to a lasting policy, derived from the limiter's `remaining`. */
export async function takenFrom(limiter: RateLimiter, policy: Policy, user: Identity): Promise<number> {
  const { policies } = await limiter.peek(policy, user);
  const { limit, remaining, resetAfterMs } = policies[0]!;
  // The first request that a leaky bucket admits takes no waiting place.
  const unseen = policy.algorithm === 'leaky-bucket' && resetAfterMs > 0 ? 1 : 0;
  return limit + unseen - remaining;
}

/** The key under which other helpers count the charges of a policy and a user. */
export function takenKey({ name }: Policy, user: Identity): string {
  return `${name} of ${user.value}`;
}
