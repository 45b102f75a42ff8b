// What `RateLimitModule` loads when an application boots. Loading the package loads none of it.
export { GlobalGuards } from '../boot/global-guards.js';
export { LocalFilter } from '../boot/local-filters.js';
export { HandlerBinder } from '../binding/handler-binder.js';
export { RateLimitExceptionFilter } from '../guard/rate-limit-exception.filter.js';
export { RateLimitGateways } from '../guard/rate-limit.gateways.js';
export { RateLimitMiddleware } from '../guard/rate-limit.middleware.js';
export { AssembledRuntime } from './assembled-runtime.js';
