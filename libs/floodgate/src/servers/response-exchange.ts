import type { EndListener, Exchange } from '../holds/waiting/exchange.js';
import type { Client } from '../holds/waiting/client.js';
import { httpClient } from '../http/http-client.js';
import type { HttpRequest } from '../http/request.js';
import { onResponseEnd } from '../http/response-end.js';

/** A request that ends with Node's response. */
export class ResponseExchange implements Exchange {
  readonly client: Client;

  /** @param response Node's, or the framework's around it */
  constructor(
    private readonly request: HttpRequest,
    private readonly response: unknown,
    readonly call: object,
  ) {
    this.client = httpClient(request, response);
  }

  onEnd(listener: EndListener): void {
    const since = performance.now();
    listener.began?.();
    onResponseEnd(this.request, this.response, ({ status, aborted }) =>
      listener.ended({ status, aborted, error: undefined, value: undefined, durationMs: performance.now() - since }),
    );
  }

  /** The rejection is the response. */
  abandon(): void {}
}
