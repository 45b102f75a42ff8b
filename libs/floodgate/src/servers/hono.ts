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
  /** Of `@hono/node-server`: Node's request and response. */
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

/** The limit of a request that decided last: its headers tell of the earlier ones, too. */
const LAST = Symbol('rate limit');

interface Decided {
  [LAST]?: HonoRequest;
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
    const node = (context.env ?? {}) as NodeBindings;
    const served = new HonoRequest(seenOf(context, node, addressOf), context, node, limits.names);
    const answer = await limits.pass(served);
    (context as Decided)[LAST] = served;
    if (answer !== undefined) {
      const { status, headers, body } = answer;
      return Response.json(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });
    }
    try {
      await next();
    } finally {
      served.handled();
    }
    return undefined;
  };
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
  private headers: readonly Header[] = [];
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

  /** They are set once the handler has returned: it may return a response of its own. */
  setHeaders(headers: readonly Header[]): void {
    this.headers = headers;
  }

  exchange(): Exchange {
    const { incoming, outgoing } = this.node;
    if (incoming !== undefined && outgoing !== undefined) return new ResponseExchange(incoming, outgoing, this.key);
    const { signal } = this.context.req.raw;
    const onEnd = (listener: EndListener): void => {
      listener.began?.();
      this.listeners.push(listener);
    };
    return { client: clientOf(signal), call: this.key, onEnd, abandon: () => {} };
  }

  /** The handler has returned, or thrown. */
  handled(): void {
    const { context, headers, listeners, since } = this;
    if ((context as Decided)[LAST] === this) setOn(context, headers);
    for (const listener of listeners) {
      const { status } = context.res;
      const { aborted } = context.req.raw.signal;
      listener.ended({ status, error: undefined, value: undefined, durationMs: performance.now() - since, aborted });
    }
  }
}

/** Hono makes a new response for each header that is set on one that exists. The headers of a response of `fetch` cannot be changed. */
function setOn(context: HonoContextLike, headers: readonly Header[]): void {
  try {
    const { headers: given } = context.res;
    for (const header of headers) given.set(header[0], header[1]);
  } catch {
    for (const header of headers) context.header(header[0], header[1]);
  }
}
