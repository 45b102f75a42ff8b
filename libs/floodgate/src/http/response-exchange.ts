import type { Client } from '../holds/waiting/client.js';
import { Ending, type Returned } from '../holds/waiting/ending.js';
import type { EndListener, Exchange } from '../holds/waiting/exchange.js';
import { httpClient } from './http-client.js';
import type { HttpRequest } from './request.js';
import { onResponseEnd } from './response-end.js';

/** A server without Nest does not see what its handlers return. */
const UNSEEN: Returned = { error: undefined, value: undefined };

/** A request over HTTP, and an operation of GraphQL over HTTP: it ends with its response, sent or not. */
export class ResponseExchange implements Exchange {
  /** @param response Node's, or the framework's around it */
  constructor(
    private readonly request: HttpRequest,
    private readonly response: unknown,
    readonly call: object,
    private readonly returned = UNSEEN,
    readonly client: Client = httpClient(request, response),
  ) {}

  onEnd(listener: EndListener): void {
    const ending = new Ending(this.returned, listener);
    listener.began?.();
    onResponseEnd(this.request, this.response, ({ status, aborted }) => ending.end(status, aborted));
  }

  /** The rejection is the response. */
  abandon(): void {}
}
