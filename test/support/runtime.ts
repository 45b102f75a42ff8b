/** The library's runtime, which is no part of its public API: for tests that look at the waiting room. */
export { RateLimitRuntime } from '../../libs/rate-limit/src/nest/guard/rate-limit.runtime.js';
export type { AssembledRuntime } from '../../libs/rate-limit/src/nest/module/assembled-runtime.js';
