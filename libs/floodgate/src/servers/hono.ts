import { ResponseExchange } from '../http/response-exchange.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import { clientOf } from '../holds/waiting/client.js';
import type { EndListener, Exchange } from '../holds/waiting/exchange.js';
import type { Header } from '../http/headers.js';
import type { HttpRequest } from '../http/request.js';
import type { RateLimitRequest } from '../identity/request-function.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { NodeLimitOptions } from './node.js';
import { RequestLimits } from './request-limits.js';
import { ServedRequest } from './served-request.js';
import { addressBehind } from './trust-proxy-option.js';

/** What the limits need of Hono's context. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request; readonly method: string; readonly url: string };
  /** Node's request and response, with `@hono/node-server`. */
  readonly env: unknown;
  readonly var: object;
  res: Response;
  header(name: string, value: string): void;
}

/** A middleware of Hono. */
export type HonoMiddleware = (context: HonoContextLike, next: () => Promise<void>) => Promise<Response | undefined>;

/** The request of Hono, as functions of policies get it. */
export interface HonoLimitRequest extends RateLimitRequest {
  /** Hono's own context. */
  readonly context: HonoContextLike;
}

/** What the limits of a request have set so far. */
const HEADERS = Symbol('rate limit headers');

interface Limited {
  [HEADERS]?: Record<string, string>;
}

interface NodeBindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

/**
 * Limits the requests of an application or a route of Hono. On Node (`@hono/node-server`) it counts addresses of connections, and
 * knows when a client leaves. On an edge runtime a request has no address: give `identity`. It ends there when its handler has
 * returned.
 *
 * @param policies one or several, each with a name; or names of the limiter's `policies`
 * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
 * @example app.use(rateLimit(limiter, { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: 10 }));
 */
export function rateLimit(
  limiter: RateLimiter,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options: NodeLimitOptions = {},
): HonoMiddleware {
  const limits = new RequestLimits(limiter, policies, options, {
    name: 'hono',
    options: ['trustProxy'],
    trustProxy: ({ socket }) => (socket === undefined ? undefined : { platform: 'hono', given: options.trustProxy }),
  });
  const addressOf = addressBehind(options, 'floodgate/hono');
  return async (context, next) => {
    const node = nodeOf(context.env);
    const served = new HonoRequest(seenOf(context, node, addressOf), context, node, limits.names);
    const answer = await limits.pass(served);
    if (answer !== undefined) {
      const { status, headers, body } = answer;
      return Response.json(body, { status, headers: served.setHeaders(headers) });
    }
    try {
      await next();
    } finally {
      served.handled();
    }
    return undefined;
  };
}

/** The bindings of a Worker may have any names, and those of services any members, which are functions. */
function nodeOf(env: unknown): NodeBindings {
  const node = (env ?? {}) as NodeBindings;
  return Array.isArray(node.incoming?.rawHeaders) ? node : {};
}

/** The request as the application's functions get it. */
function seenOf(
  context: HonoContextLike,
  { incoming }: NodeBindings,
  addressOf: ReturnType<typeof addressBehind>,
): HttpRequest & HonoLimitRequest {
  const { raw, method, url } = context.req;
  return {
    context,
    method,
    url,
    headers: incoming?.headers ?? Object.fromEntries(raw.headers),
    user: (context.var as { readonly user?: unknown }).user,
    ...(incoming && {
      raw: incoming,
      rawHeaders: incoming.rawHeaders,
      socket: incoming.socket,
      ip: addressOf(incoming),
    }),
  };
}

class HonoRequest extends ServedRequest {
  private readonly listeners: EndListener[] = [];
  private readonly since = performance.now();

  constructor(
    request: HttpRequest & RateLimitRequest,
    private readonly context: HonoContextLike,
    private readonly node: NodeBindings,
    names: readonly [server: string, limit: string],
  ) {
    super(request, names);
  }

  get response(): unknown {
    return this.node.outgoing;
  }

  get key(): object {
    return this.node.incoming ?? this.context.req.raw;
  }

  /**
   * They are set once the handler has returned: it may return a response of its own.
   *
   * @returns those of the earlier limits as well
   */
  setHeaders(headers: readonly Header[]): Record<string, string> {
    return Object.assign(((this.context as Limited)[HEADERS] ??= {}), Object.fromEntries(headers));
  }

  exchange(): Exchange {
    const { incoming, outgoing } = this.node;
    if (incoming !== undefined && outgoing !== undefined) return new ResponseExchange(incoming, outgoing, this.key);
    const { signal } = this.context.req.raw;
    const onEnd = (listener: EndListener): void => {
      listener.began?.();
      this.listeners.push(listener);
    };
    return { client: clientOf(signal), call: this.key, onEnd, abandon: () => this.end(undefined) };
  }

  /** The handler has returned, or thrown. */
  handled(): void {
    const { context } = this;
    const headers = (context as Limited)[HEADERS];
    if (headers !== undefined) setOn(context, headers);
    if (this.listeners.length > 0) this.end(context.res.status);
  }

  private end(status: number | undefined): void {
    const { aborted } = this.context.req.raw.signal;
    const durationMs = performance.now() - this.since;
    const outcome = { status, error: undefined, value: undefined, durationMs, aborted };
    for (const listener of this.listeners.splice(0)) listener.ended(outcome);
  }
}

/** Hono makes a new response for each header that is set on one that exists. The headers of a response of `fetch` cannot be changed. */
function setOn(context: HonoContextLike, headers: Record<string, string>): void {
  const { headers: given, status } = context.res;
  try {
    for (const [name, value] of Object.entries(headers)) given.set(name, value);
  } catch {
    // Nor can that of an upgrade be made anew, whose status is 101.
    if (status >= 200) for (const [name, value] of Object.entries(headers)) context.header(name, value);
  }
}
