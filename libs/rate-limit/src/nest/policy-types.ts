import type { ExecutionContext } from '@nestjs/common';
import type * as bound from '../policy/bound-policy.js';
import type * as policy from '../policy/policy.js';

// The types of policies whose functions take Nest's context, under the names that users know.

export type PolicyBy = policy.PolicyBy<ExecutionContext>;
export type TokenBucketPolicy = policy.TokenBucketPolicy<ExecutionContext>;
export type LeakyBucketPolicy = policy.LeakyBucketPolicy<ExecutionContext>;
export type FixedWindowPolicy = policy.FixedWindowPolicy<ExecutionContext>;
export type SlidingWindowLogPolicy = policy.SlidingWindowLogPolicy<ExecutionContext>;
export type SlidingWindowCounterPolicy = policy.SlidingWindowCounterPolicy<ExecutionContext>;
export type Policy = policy.Policy<ExecutionContext>;
export type PolicyFunction = policy.PolicyFunction<ExecutionContext>;
export type PolicyChoice = policy.PolicyChoice<ExecutionContext>;
export type PolicySource = policy.PolicySource<ExecutionContext>;
export type BoundPolicy = bound.BoundPolicy<ExecutionContext>;
