import { ResponseExchange } from '../http/response-exchange.js';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { Exchange } from '../holds/waiting/exchange.js';
import type { Header } from '../http/headers.js';
import { hasBegun } from '../http/http-client.js';
import type { HttpRequest } from '../http/request.js';
import { fastifyTrustProxy } from '../http/trust-proxy-settings.js';
import type { RateLimitRequest } from '../identity/request-function.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { type Next, passOn } from './node.js';
import { type LimitedServer, type RequestLimitOptions, RequestLimits } from './request-limits.js';
import { type Answered, ServedRequest } from './served-request.js';

/** What the limits need of Fastify's reply. */
export interface FastifyReplyLike {
  readonly raw: object;
  readonly sent: boolean;
  header(name: string, value: string): unknown;
  code(status: number): unknown;
  send(body: object): unknown;
}

/** A hook of Fastify: of an application, a plugin, or a route. */
export type FastifyHook = (request: HttpRequest & RateLimitRequest, reply: FastifyReplyLike, done: Next) => void;

/** What the plugin needs of an instance of Fastify. */
export interface FastifyLike {
  addHook(name: 'onRequest' | 'preHandler', hook: (request: never, reply: never, done: Next) => void): unknown;
}

/** The options of the plugin. */
export interface FastifyLimitOptions extends RequestLimitOptions {
  /** The limiter that `createLimiter` returned. There is no default. */
  readonly limiter: RateLimiter;
  /** One or several, each with a name; or names of the limiter's `policies`. There is no default. */
  readonly policies: LimiterPolicy | readonly LimiterPolicy[];
  /**
   * When requests are limited: `'onRequest'` (default), before anything else, or `'preHandler'`, after authentication and the
   * parsing of the body.
   */
  readonly hook?: 'onRequest' | 'preHandler' | undefined;
}

const FASTIFY: LimitedServer = {
  name: 'fastify',
  trustProxy: (request) => fastifyTrustProxy((request as { readonly server?: unknown }).server),
};
const HOOKS = ['onRequest', 'preHandler'];

/**
 * Limits all requests of the instance that registers it. It counts addresses by Fastify's `trustProxy`.
 *
 * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
 * @example await app.register(rateLimit, { limiter, policies: { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: 10 } });
 */
// Asynchronous: Fastify does not catch what a plugin with a callback throws.
export async function rateLimit(instance: FastifyLike, given: FastifyLimitOptions): Promise<void> {
  // Fastify adds options of its own.
  const {
    limiter,
    policies,
    hook = 'onRequest',
    prefix: _,
    logLevel: __,
    ...options
  } = given as FastifyLimitOptions & {
    readonly prefix?: unknown;
    readonly logLevel?: unknown;
  };
  if (!HOOKS.includes(hook)) {
    throw new RateLimitConfigError('floodgate/fastify', `hook must be 'onRequest' or 'preHandler', got ${shown(hook)}`);
  }
  instance.addHook(hook, limitHook(limiter, policies, options));
}

// Limits the instance that registers the plugin, not one of its own.
Object.assign(rateLimit, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'floodgate' });

/**
 * Limits the requests of one route, as its `onRequest` or `preHandler`.
 *
 * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
 * @example app.post('/login', { onRequest: limitHook(limiter, 'login') }, login);
 */
export function limitHook(
  limiter: RateLimiter,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options: RequestLimitOptions = {},
): FastifyHook {
  const limits = new RequestLimits(limiter, policies, options, FASTIFY);
  return (request, reply, done) => {
    const served = new FastifyRequest(request, reply, limits.names);
    passOn(limits, served, (answer) => served.send(answer), done);
  };
}

class FastifyRequest extends ServedRequest {
  constructor(
    request: HttpRequest & RateLimitRequest,
    readonly response: FastifyReplyLike,
    names: readonly [server: string, limit: string],
  ) {
    super(request, names);
  }

  get key(): object {
    return this.request;
  }

  setHeaders(headers: readonly Header[]): void {
    for (const header of headers) this.response.header(header[0], header[1]);
  }

  exchange(): Exchange {
    return new ResponseExchange(this.request, this.response, this.request);
  }

  send({ status, headers, body }: Answered): void {
    const { response } = this;
    // Fastify says only at the end of a stream that it is sent.
    if (response.sent || hasBegun(response)) return;
    this.setHeaders(headers);
    response.code(status);
    response.send(body);
  }
}
