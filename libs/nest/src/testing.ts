export {
  type Algorithm,
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type ChargeVerdict,
  type Clock,
  type ConformanceCase,
  describeRateLimitStore,
  type OpenStore,
  rateLimitStoreConformance,
  type SettledCharge,
  type StoreSettings,
  type StoreUnderTest,
  type TestFramework,
  type Timer,
  type Verdict,
  VirtualClock,
  VirtualStore,
} from 'floodgate/testing';
export { overrideRateLimitStore, type TestingModuleBuilderLike, withoutLimits } from './testing/override.js';
export { RATE_LIMIT_STORE } from './options/store-token.js';
export { resetLimits } from './testing/reset-limits.js';
export { recordDecisions, type RecordedDecisions } from './testing/recorded-decisions.js';
export {
  type AdmittedBurst,
  expectLimit,
  type ExpectLimitOptions,
  type LimitedApplication,
  type LimitExpectation,
} from './testing/expect/expect-limit.js';
export type { HttpApplicationLike, LimitReply } from './testing/expect/http-client.js';
export type { IdentityHeaders, TestIdentity } from './testing/expect/identity-headers.js';
export type { ApplicationLike } from './testing/runtime-of.js';
