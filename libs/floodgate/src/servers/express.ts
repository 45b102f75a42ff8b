import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { HttpRequest } from '../http/request.js';
import { expressTrustProxy } from '../http/trust-proxy-settings.js';
import type { RateLimitRequest } from '../identity/request-function.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import { type Next, NodeRequest, type NodeResponse, passOn } from './node.js';
import { type LimitedServer, type RequestLimitOptions, RequestLimits } from './request-limits.js';

/** A middleware of Express 4 and 5, and of servers with the same middleware. */
export type ExpressMiddleware = (request: HttpRequest & RateLimitRequest, response: NodeResponse, next: Next) => void;

const EXPRESS: LimitedServer = {
  name: 'express',
  trustProxy: (request) => expressTrustProxy((request as { readonly app?: unknown }).app),
};

/**
 * Limits the requests of an application or a router of Express. It counts addresses by Express's `trust proxy`.
 *
 * @param policies one or several, each with a name; or names of the limiter's `policies`
 * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
 * @example app.use(rateLimit(limiter, { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: 10 }));
 * @example app.post('/login', rateLimit(limiter, 'login'), login);
 */
export function rateLimit(
  limiter: RateLimiter,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options: RequestLimitOptions = {},
): ExpressMiddleware {
  const limits = new RequestLimits(limiter, policies, options, EXPRESS);
  return (request, response, next) => {
    const served = new NodeRequest(request, response, limits.names);
    passOn(limits, served, (answer) => served.send(answer), next);
  };
}
