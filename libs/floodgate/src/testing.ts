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
