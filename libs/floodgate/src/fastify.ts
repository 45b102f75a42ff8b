export { type FastifyHook, type FastifyLimitOptions, limitHook, rateLimit } from './servers/fastify.js';
export type { RequestLimitOptions } from './servers/request-limits.js';
