export { RateLimit, type RoutePolicyOptions } from './decorators/rate-limit.decorator.js';
export { SkipRateLimit } from './decorators/skip-rate-limit.decorator.js';
export { RateLimitDecision } from './decisions/rate-limit-decision.decorator.js';
export { rateLimitDecisionOf } from './decisions/decision-of.js';
export {
  type CallCost,
  type CallOptions,
  CallQueueFullError,
  CallWaitError,
  chargedBy,
  type Client,
  clientOf,
  createLimiter,
  type Decision,
  type DecisionEvent,
  type DecisionSource,
  type Duration,
  type ErrorCode,
  type ExpiryOptions,
  type Identity,
  identityTag,
  Lease,
  LimiterClosedError,
  type LimiterOptions,
  type LimiterPolicy,
  LimiterUnavailableError,
  type LimitExplanation,
  type LimitTable,
  MemoryStore,
  type MemoryStoreOptions,
  type OnStoreFailure,
  type Outcome,
  OverrideConflictError,
  type OverrideOptions,
  type OverridePage,
  type OverrideTarget,
  type PolicyDecision,
  type PrefetchOptions,
  RateLimitConfigError,
  RateLimiter,
  type RateLimitOverride,
  RateLimitOverrides,
  type RateLimitStats,
  type RateLimitStore,
  RateLimitStoreError,
  Reservation,
  ReservationClosedError,
  ReservationsFullError,
  type ScheduleOptions,
  type Settlement,
  type StoreStateChange,
  type ThresholdEvent,
  TooManyOverridesError,
  WaitingRoomFullError,
} from 'floodgate';
export {
  apiKeyIdentity,
  type HeaderFormat,
  ipIdentity,
  limitedAxios,
  limitedFetch,
  type LimitedFetchOptions,
  type OnMissingIdentity,
  type OpenApiDocument,
  type OutgoingOptions,
  RATE_LIMIT_HEADERS,
  type RateLimitExceededBody,
  type RateLimitExceededProblem,
  type RateLimitRequest,
  type ResolvedIdentities,
  userIdentity,
} from 'floodgate/http';
export { RateLimitModule } from './module/rate-limit.module.js';
export type {
  MiddlewareOptions,
  PlanAnswer,
  PlanOptions,
  RateLimitModuleExtras,
  RateLimitModuleOptions,
  ShedOptions,
} from './options/module-options.js';
export { RateLimitGuard } from './guard/rate-limit.guard.js';
export { documentRateLimits } from './openapi/document-rate-limits.js';
export { RateLimitMetricsModule, type RateLimitMetricsOptions } from './module/rate-limit-metrics.module.js';
export { RateLimitAdminModule, type RateLimitAdminOptions } from './admin/rate-limit-admin.module.js';
export {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitShedException,
  RateLimitUnavailableException,
} from './exceptions/exceptions.js';

export type {
  BoundPolicy,
  ConcurrencyPolicy,
  FixedWindowPolicy,
  IdentityResolver,
  LeakyBucketPolicy,
  Policy,
  PolicyBy,
  PolicyChoice,
  PolicyFunction,
  PolicySource,
  PolicyUse,
  ProblemFunction,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TokenBucketPolicy,
  TimeZoneFunction,
} from './types.js';

export { graphqlContext, type GraphqlContextOptions } from './contexts/graphql.js';
export type { ContextAdapter, ContextRequest, HandlerPlace } from './contexts/context-adapter.js';

export { type RedisClient, type RedisConnectionOptions, RedisStore, type RedisStoreOptions } from 'floodgate/redis';
