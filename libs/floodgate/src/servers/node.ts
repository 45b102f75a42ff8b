import { ResponseExchange } from '../http/response-exchange.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { Exchange } from '../holds/waiting/exchange.js';
import type { Header } from '../http/headers.js';
import { hasBegun } from '../http/http-client.js';
import type { HttpRequest } from '../http/request.js';
import type { RateLimitRequest } from '../identity/request-function.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { Answer } from '../util/answer.js';
import { isPromise } from '../util/is-promise.js';
import { readable, reasonOf } from '../util/thrown.js';
import { RequestLimits, type RequestLimitOptions } from './request-limits.js';
import { type Answered, ServedRequest } from './served-request.js';
import { addressBehind, type TrustProxy } from './trust-proxy-option.js';

/** Node's response, or one that extends it. */
export type NodeResponse = Pick<ServerResponse, 'setHeader' | 'end' | 'statusCode' | 'headersSent'>;

/** Goes on with a request, or ends it with an error. */
export type Next = (error?: Error) => void;

/** A request of Node's own server, or of a framework whose response extends Node's. */
export class NodeRequest extends ServedRequest {
  constructor(
    request: HttpRequest & RateLimitRequest,
    readonly response: NodeResponse,
    names: readonly [server: string, limit: string],
    readonly key: object = request,
  ) {
    super(request, names);
  }

  setHeaders(headers: readonly Header[]): void {
    for (const header of headers) this.response.setHeader(header[0], header[1]);
  }

  exchange(): Exchange {
    return new ResponseExchange(this.request, this.response, this.key);
  }

  /** Sends the answer of a request that does not pass. One that was answered meanwhile keeps its answer. */
  send({ status, headers, body }: Answered): void {
    const { response } = this;
    if (hasBegun(response)) return;
    this.setHeaders(headers);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.statusCode = status;
    response.end(JSON.stringify(body));
  }
}

/** Goes on with a request that passes, and sends the answer of one that does not. */
export function passOn(
  limits: RequestLimits,
  served: ServedRequest,
  send: (answer: Answered) => unknown,
  next: Next,
): void {
  const go = (answer: Answered | undefined): void => {
    if (answer === undefined) next();
    else send(answer);
  };
  let passed: Answer<Answered | undefined>;
  try {
    passed = limits.pass(served);
  } catch (error) {
    next(asError(error));
    return;
  }
  if (isPromise(passed)) passed.then(go, (error: unknown) => next(asError(error)));
  else go(passed);
}

/** Whatever a function throws must not let the request pass: frameworks take undefined, 0 and `'route'` for no error. */
function asError(thrown: unknown): Error {
  const known = readable(thrown);
  return known instanceof Error ? known : new Error(`A policy's function failed: ${reasonOf(known)}`);
}

/** The options of `limitRequests`. */
export interface NodeLimitOptions extends RequestLimitOptions {
  /**
   * The proxies that stand in front of the server, whose `X-Forwarded-For` names the client: how many, a whole number from 0, or their
   * addresses and CIDR ranges. Default 0: the address of the connection counts.
   *
   * @example trustProxy: 1
   * @example trustProxy: ['10.0.0.0/8']
   */
  readonly trustProxy?: TrustProxy | undefined;
}

/**
 * Limits the requests of Node's own server, of HTTP/1 and HTTP/2.
 *
 * @param policies one or several, each with a name; or names of the limiter's `policies`
 * @returns a function that resolves to true for a request that passes, and has answered any other
 * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
 * @example
 * ```ts
 * const passes = limitRequests(limiter, { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: 10 });
 * createServer((request, response) => {
 *   passes(request, response).then((passed) => passed && response.end('Hello!'), (error) => response.destroy(error));
 * });
 * ```
 */
export function limitRequests(
  limiter: RateLimiter,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options: NodeLimitOptions = {},
): (request: Pick<IncomingMessage, 'headers' | 'socket'>, response: NodeResponse) => Promise<boolean> {
  const limits = new RequestLimits(limiter, policies, options, {
    name: 'http',
    options: ['trustProxy'],
    trustProxy: () => ({ platform: 'http', given: options.trustProxy }),
  });
  const addressOf = addressBehind(options, 'floodgate/http');
  return (request, response) => {
    // The application's functions read the request through an object that knows the client's address, too.
    const seen = Object.create(request, { ip: { value: addressOf(request) } }) as HttpRequest & RateLimitRequest;
    const served = new NodeRequest(seen, response, limits.names, request);
    return new Promise((resolve, reject) => {
      const send = (answer: Answered): void => {
        served.send(answer);
        resolve(false);
      };
      passOn(limits, served, send, (error) => (error === undefined ? resolve(true) : reject(error)));
    });
  };
}
