import './util/real-timers.js'; // now: a test may fake the timers before the rest is loaded
export { RateLimit, type RoutePolicyOptions } from './nest/decorators/rate-limit.decorator.js';
export { SkipRateLimit } from './nest/decorators/skip-rate-limit.decorator.js';
export { RateLimitDecision } from './nest/decisions/rate-limit-decision.decorator.js';
export { rateLimitDecisionOf } from './nest/decisions/decision-of.js';
export { chargedBy, type ChargedCost } from './charges/charged-by.js';
export { RateLimitModule } from './nest/module/rate-limit.module.js';
export type {
  MiddlewareOptions,
  PlanOptions,
  RateLimitModuleExtras,
  RateLimitModuleOptions,
  ShedOptions,
} from './nest/options/module-options.js';
export type { StoreStateChange } from './stores/store-state.js';
export { RateLimitGuard } from './nest/guard/rate-limit.guard.js';
export type { OpenApiDocument } from './http/openapi.js';
export { documentRateLimits } from './nest/openapi/document-rate-limits.js';
export { createLimiter } from './limiter/create-limiter.js';
export type { LimiterOptions } from './limiter/limiter-options.js';
export { RateLimiter } from './limiter/rate-limiter.js';
export type { LimitTarget } from './operate/limit-looks.js';
export type { ResetState } from './operate/reset-states.js';
export type { HandlerClass, LimitReference, RouteReference } from './operate/explain/limit-references.js';
export type {
  ExplainedLevel,
  ExplainedOutcome,
  ExplainedOverride,
  LimitExplanation,
  PolicyExplanation,
} from './operate/explain/explanation.js';
export type {
  LimitTable,
  PolicyOrigin,
  TableMiddleware,
  TablePolicy,
  TableRoute,
} from './operate/explain/limit-table.js';
export { RateLimitOverrides } from './operate/overrides/rate-limit-overrides.js';
export { OverrideConflictError, TooManyOverridesError } from './operate/overrides/errors.js';
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
export { Lease } from './holds/leases/lease.js';
export type { CallOptions, LookOptions } from './charges/call-options.js';
export type { LimiterPolicy } from './engine/calls/call-policies.js';
export {
  Reservation,
  type PolicySettlement,
  type SettledBy,
  type Settlement,
} from './holds/settlements/reservation.js';
export type { AtExpiry, ExpiryOptions } from './policy/expiry.js';
export type { ScheduleOptions } from './scheduling/schedule-options.js';
export {
  CallQueueFullError,
  CallWaitError,
  LimiterClosedError,
  LimiterUnavailableError,
  ReservationClosedError,
  ReservationsFullError,
  WaitingRoomFullError,
} from './charges/errors.js';
export { type FetchRequest, limitedFetch, type LimitedFetchOptions } from './outbound/limited-fetch.js';
export {
  limitedAxios,
  type OutgoingAxios,
  type OutgoingAxiosConfig,
  type OutgoingAxiosResponse,
} from './outbound/limited-axios.js';
export type { OutgoingOptions } from './outbound/outgoing-options.js';
export type { Decision, PolicyDecision } from './policy/decision.js';
export type { DecisionSource } from './charges/layer-verdict.js';
export type { DecisionEvent } from './watch/decision-event.js';
export type { RejectedIdentity, TopRejected } from './watch/rejected/top-rejected.js';
export type { ThresholdEvent } from './watch/thresholds/threshold-event.js';
export {
  RateLimitMetricsModule,
  type MetricsMeterProvider,
  type MetricsRegistry,
  type RateLimitMetricsOptions,
} from './nest/module/rate-limit-metrics.module.js';
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
  StoreStats,
  ReservationStats,
  ScheduledStats,
} from './watch/stats.js';
export type { SheddingStats } from './shedding/load-shedder.js';
export type { ThresholdName } from './shedding/pressure.js';
export type { ShedRequestsStats } from './shedding/shed-level.js';
export { RateLimitAdminModule, type RateLimitAdminOptions } from './nest/admin/rate-limit-admin.module.js';
export type { RateLimitExceededBody } from './http/bodies.js';
export { RATE_LIMIT_HEADERS, type HeaderFormat } from './http/headers.js';
export type {
  RateLimitAddressBlockedProblem,
  RateLimitExceededProblem,
  RateLimitIdentityMissingProblem,
  RateLimitUnavailableProblem,
} from './http/problem.js';
export {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitShedException,
  RateLimitUnavailableException,
} from './nest/exceptions/exceptions.js';

export type {
  AddressFunction,
  BoundPolicy,
  ConcurrencyPolicy,
  FixedWindowPolicy,
  IdentityResolver,
  LeakyBucketPolicy,
  Policy,
  PolicyBy,
  PlanNumbers,
  PolicyCalendar,
  PolicyChoice,
  PolicyFunction,
  PolicySource,
  PolicyUse,
  ProblemFunction,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TimeZoneFunction,
  TokenBucketPolicy,
} from './nest/types.js';
export type { Outcome } from './policy/outcome.js';
export type { PrefetchOptions } from './policy/prefetch.js';
export type { OnStoreFailure, PolicyMode, PolicyNumbers, PolicyScope, QuotaUnit } from './policy/policy.js';
export type { Rate } from './algorithms/core/rate.js';
export type { CalendarUnit, CalendarWindow } from './algorithms/fixed-window/calendar.js';
export type { Duration } from './util/duration.js';
export { RateLimitConfigError } from './util/config-error.js';
export type { ErrorCode } from './util/error-codes.js';

export {
  graphqlContext,
  type GraphqlContextOptions,
  type GraphqlCount,
  type GraphqlFieldInfo,
} from './nest/contexts/graphql.js';
export { type Client, clientOf } from './holds/waiting/client.js';
export type {
  CallEnd,
  ContextAdapter,
  ContextRequest,
  HandlerPlace,
  RateLimitException,
} from './nest/contexts/context-adapter.js';

export type { Identity, IdentityValue, OnMissingIdentity, SyncIdentityResolver } from './identity/identity.js';
export type { RateLimitRequest } from './identity/request-function.js';
export type { ResolvedIdentities } from './identity/resolved-identities.js';
export { identityTag, type IdentityNaming } from './identity/identity-tag.js';
export { apiKeyIdentity, ipIdentity, userIdentity } from './nest/guard/identities.js';

export type { Algorithm, AlgorithmName } from './algorithms/core/algorithm.js';
export {
  type Charge,
  type ChargeVerdict,
  type Clock,
  type RateLimitStore,
  RateLimitStoreError,
  type ChargeReceipt,
  type ChargeSettlement,
  type SettledCharge,
  type Timer,
  type Verdict,
} from './stores/store.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export { RedisStore, type RedisStoreOptions } from './stores/redis/redis.store.js';
export type { RedisClient } from './stores/redis/clients/redis-client.js';
export type { RedisConnectionOptions } from './stores/redis/clients/redis-options.js';
