export { type ExpressMiddleware, rateLimit } from './servers/express.js';
export type { RequestLimitOptions } from './servers/request-limits.js';
