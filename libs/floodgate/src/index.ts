import './util/real-timers.js'; // now: a test may fake the timers before the rest is loaded
import './util/this-copy.js';
export type { Algorithm, AlgorithmName } from './algorithms/core/algorithm.js';
export type { Rate } from './algorithms/core/rate.js';
export type { CalendarUnit, CalendarWindow } from './algorithms/fixed-window/calendar.js';
export type { CallOptions, LookOptions } from './charges/call-options.js';
export { chargedBy, type ChargedCost } from './charges/charged-by.js';
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
export {
  type PolicySettlement,
  Reservation,
  type SettledBy,
  type Settlement,
} from './holds/settlements/reservation.js';
export { type Client, clientOf } from './holds/waiting/client.js';
export type { RateLimitExceededBody } from './http/bodies.js';
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './http/headers.js';
export type { OpenApiDocument } from './http/openapi.js';
export type {
  RateLimitAddressBlockedProblem,
  RateLimitExceededProblem,
  RateLimitIdentityMissingProblem,
  RateLimitUnavailableProblem,
} from './http/problem.js';
export { type IdentityNaming, identityTag } from './identity/identity-tag.js';
export type { Identity, IdentityValue, OnMissingIdentity, SyncIdentityResolver } from './identity/identity.js';
export type { RateLimitRequest, RequestFunction } from './identity/request-function.js';
export { ResolvedIdentities } from './identity/resolved-identities.js';
export type {
  OverrideChange,
  OverrideHistoryEntry,
  OverrideOptions,
  OverridePage,
  OverridePageOptions,
  OverrideRemoval,
  OverrideTarget,
  RateLimitOverride,
} from './layers/overrides/override.js';
export { createLimiter } from './limiter/create-limiter.js';
export type { LimiterOptions } from './limiter/limiter-options.js';
export { RateLimiter } from './limiter/rate-limiter.js';
export type {
  ExplainedLevel,
  ExplainedOutcome,
  ExplainedOverride,
  LimitExplanation,
  PolicyExplanation,
} from './operate/explain/explanation.js';
export type { HandlerClass, LimitReference, RouteReference } from './operate/explain/limit-references.js';
export type {
  LimitTable,
  PolicyOrigin,
  TableMiddleware,
  TablePolicy,
  TableRoute,
} from './operate/explain/limit-table.js';
export type { LimitTarget } from './operate/limit-looks.js';
export { OverrideConflictError, TooManyOverridesError } from './operate/overrides/errors.js';
export { RateLimitOverrides } from './operate/overrides/rate-limit-overrides.js';
export type { ResetState } from './operate/reset-states.js';
export {
  limitedAxios,
  type OutgoingAxios,
  type OutgoingAxiosConfig,
  type OutgoingAxiosResponse,
} from './outbound/limited-axios.js';
export { type FetchRequest, limitedFetch, type LimitedFetchOptions } from './outbound/limited-fetch.js';
export type { OutgoingOptions } from './outbound/outgoing-options.js';
export type { Decision, PolicyDecision } from './policy/decision.js';
export type { AtExpiry, ExpiryOptions } from './policy/expiry.js';
export type { Outcome } from './policy/outcome.js';
export type { OnStoreFailure, PolicyMode, PolicyNumbers, PolicyScope, QuotaUnit } from './policy/policy.js';
export type { PrefetchOptions } from './policy/prefetch.js';
export type { ScheduleOptions } from './scheduling/schedule-options.js';
export type { SheddingStats } from './shedding/load-shedder.js';
export type { ThresholdName } from './shedding/pressure.js';
export type { ShedRequestsStats } from './shedding/shed-level.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export type { StoreStateChange } from './stores/store-state.js';
export {
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type ChargeVerdict,
  type Clock,
  type RateLimitStore,
  RateLimitStoreError,
  type SettledCharge,
  type Timer,
  type Verdict,
} from './stores/store.js';
export { RateLimitConfigError } from './util/config-error.js';
export type { Duration } from './util/duration.js';
export type { ErrorCode } from './util/error-codes.js';
export type { DecisionEvent } from './watch/decision-event.js';
export type { RejectedIdentity, TopRejected } from './watch/rejected/top-rejected.js';
export type {
  Distribution,
  LeaseStats,
  MissingIdentityStats,
  OverriddenCharges,
  OverrideStats,
  PlanStats,
  PolicyStats,
  QueueTimeStats,
  RateLimitStats,
  ReservationStats,
  ScheduledStats,
  StoreStats,
} from './watch/stats.js';
export type { ThresholdEvent } from './watch/thresholds/threshold-event.js';
export type { IdentityBy, IdentityResolver } from './identity/identity.js';
export type {
  ConcurrencyPolicy,
  FixedWindowPolicy,
  LeakyBucketPolicy,
  PlanNumbers,
  Policy,
  PolicyCalendar,
  PolicyChoice,
  PolicyFunction,
  PolicyUse,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TimeZoneFunction,
  TokenBucketPolicy,
} from './policy/policy.js';
export type { IdentityRequest } from './identity/resolvers.js';
export type { MetricsMeterProvider } from './watch/publish/opentelemetry.js';
export type { MetricsRegistry } from './watch/publish/prom-client.js';
export type { BoundPolicy } from './policy/bound-policy.js';
export { apiKeyIdentity, ipIdentity, userIdentity } from './identity/identities.js';
