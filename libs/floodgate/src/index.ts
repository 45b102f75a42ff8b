import './util/real-timers.js'; // now: a test may fake the timers before the rest is loaded
import './util/this-copy.js';
export type { CallOptions } from './charges/call-options.js';
export type { CallCost } from './charges/cost-by-name.js';
export { chargedBy } from './charges/charged-by.js';
export {
  CallQueueFullError,
  CallWaitError,
  LimiterClosedError,
  LimiterUnavailableError,
  ReservationClosedError,
  ReservationsFullError,
  WaitingRoomFullError,
} from './charges/errors.js';
export type { DecisionSource } from './charges/layer-verdict.js';
export type { LimiterPolicy } from './engine/calls/call-policies.js';
export { Lease } from './holds/leases/lease.js';
export { Reservation, type Settlement } from './holds/settlements/reservation.js';
export { type Client, clientOf } from './holds/waiting/client.js';
export { identityTag } from './identity/identity-tag.js';
export type { Identity, IdentityBy } from './identity/identity.js';
export type { OverrideOptions, OverridePage, OverrideTarget, RateLimitOverride } from './layers/overrides/override.js';
export { createLimiter } from './limiter/create-limiter.js';
export type { LimiterOptions } from './limiter/limiter-options.js';
export { RateLimiter } from './limiter/rate-limiter.js';
export type { LimitExplanation } from './operate/explain/explanation.js';
export type { LimitTable } from './operate/explain/limit-table.js';
export { OverrideConflictError, TooManyOverridesError } from './operate/overrides/errors.js';
export { RateLimitOverrides } from './operate/overrides/rate-limit-overrides.js';
export type { Decision, PolicyDecision } from './policy/decision.js';
export type { ExpiryOptions } from './policy/expiry.js';
export type { Outcome } from './policy/outcome.js';
export type { OnStoreFailure } from './policy/policy.js';
export type { PrefetchOptions } from './policy/prefetch.js';
export type { ScheduleOptions } from './scheduling/schedule-options.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export type { StoreStateChange } from './stores/store-state.js';
export { type RateLimitStore, RateLimitStoreError } from './stores/store.js';
export { RateLimitConfigError } from './util/config-error.js';
export type { Duration } from './util/duration.js';
export type { ErrorCode } from './util/error-codes.js';
export type { DecisionEvent } from './watch/decision-event.js';
export type { RateLimitStats } from './watch/stats.js';
export type { ThresholdEvent } from './watch/thresholds/threshold-event.js';
export type {
  ConcurrencyPolicy,
  FixedWindowPolicy,
  LeakyBucketPolicy,
  PlanNumbers,
  Policy,
  PolicyCalendar,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TokenBucketPolicy,
} from './policy/policy.js';
export type { MetricsMeterProvider } from './watch/publish/opentelemetry.js';
export type { MetricsRegistry } from './watch/publish/prom-client.js';
