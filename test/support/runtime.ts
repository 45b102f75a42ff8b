/** The library's runtime, which is no part of its public API: for tests that look at the waiting room. */
export { RateLimitRuntime } from '../../libs/nest/src/guard/rate-limit.runtime.js';
export type { AssembledRuntime } from '../../libs/nest/src/module/assembled-runtime.js';
