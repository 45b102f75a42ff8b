export {
  type ConformanceCase,
  describeRateLimitStore,
  rateLimitStoreConformance,
  type StoreUnderTest,
  type TestFramework,
} from './testing/conformance/conformance.js';
export type { OpenStore, StoreSettings } from './testing/conformance/timeline.js';
export { VirtualClock } from './testing/virtual-clock.js';
export { VirtualStore } from './testing/virtual-store.js';
export type { Algorithm } from './algorithms/core/algorithm.js';
export type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  ChargeVerdict,
  Clock,
  SettledCharge,
  Timer,
  Verdict,
} from './stores/store.js';
