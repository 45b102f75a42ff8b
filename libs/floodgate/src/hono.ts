export { type HonoLimitRequest, type HonoMiddleware, rateLimit } from './servers/hono.js';
export type { NodeLimitOptions } from './servers/node.js';
