export { VirtualClock } from './virtual-clock.js';
export { VirtualStore } from './virtual-store.js';
export { overrideRateLimitStore, type TestingModuleBuilderLike, withoutLimits } from './override.js';
export { RATE_LIMIT_STORE } from '../nest/options/store-token.js';
export { resetLimits } from './reset-limits.js';
export { recordDecisions, type RecordedDecisions } from './recorded-decisions.js';
export {
  type AdmittedBurst,
  expectLimit,
  type ExpectLimitOptions,
  type LimitedApplication,
  type LimitExpectation,
} from './expect/expect-limit.js';
export type { HttpApplicationLike, LimitReply } from './expect/http-client.js';
export type { IdentityHeaders, TestIdentity } from './expect/identity-headers.js';
export type { ApplicationLike } from './runtime-of.js';
export {
  type ConformanceCase,
  describeRateLimitStore,
  rateLimitStoreConformance,
  type StoreUnderTest,
  type TestFramework,
} from './conformance/conformance.js';
export type { OpenStore, StoreSettings } from './conformance/timeline.js';
