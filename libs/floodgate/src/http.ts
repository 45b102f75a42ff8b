export { limitRequests, type NodeLimitOptions, type NodeResponse } from './servers/node.js';
export type { RequestLimitOptions } from './servers/request-limits.js';
export type { TrustProxy } from './servers/trust-proxy-option.js';
