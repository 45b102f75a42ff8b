import type { RateLimitRequest } from '../identity/request-function.js';
import type { Header } from '../http/headers.js';
import type { HttpRequest } from '../http/request.js';
import type { Exchange } from '../holds/waiting/exchange.js';
import type { HandlerContext } from '../watch/decision-event.js';

/** The answer to a request that does not pass. */
export interface Answered {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: object;
}

/** A request on its way through the limits of a server. */
export abstract class ServedRequest implements HandlerContext {
  /** The answer, once the request is rejected. */
  answer: Answered | undefined;

  /**
   * @param request what the application's functions get
   * @param names the server, and the policies: `DecisionEvent.route` is `'express.login'`
   */
  constructor(
    readonly request: HttpRequest & RateLimitRequest,
    private readonly names: readonly [server: string, limit: string],
  ) {}

  /** The object that belongs to the request as long as it lasts, whichever of its limits asks. */
  abstract readonly key: object;

  /** Node's response, or the framework's around it; undefined on an edge runtime. */
  abstract readonly response: unknown;

  /** Sets headers on the response of a request that passes. */
  abstract setHeaders(headers: readonly Header[]): void;

  /** The request's life. Called only if it waits, holds leases or is settled. */
  abstract exchange(): Exchange;

  getClass(): { readonly name: string } {
    return { name: this.names[0] };
  }

  getHandler(): { readonly name: string } {
    return { name: this.names[1] };
  }
}
