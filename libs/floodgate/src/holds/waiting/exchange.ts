import type { Outcome } from '../../policy/outcome.js';
import type { Client } from './client.js';

/** The life of one request on any transport: its client, and how it ends. A `concurrency` lease is held until the ending. */
export interface Exchange {
  readonly client: Client;
  /** Identifies the handler call. All guards of one call share it. */
  readonly call: object;
  /** Tells a listener once how the request ends; at once if it has ended. */
  onEnd(listener: EndListener): void;
  /** The request was charged, and its handler is not called: the guard rejects it. */
  abandon(): void;
}

/** A listener to the end of a request. */
export interface EndListener {
  /** Called once `ended` is certain to be called: at once for HTTP, otherwise when the handler is called. */
  readonly began?: () => void;
  /** Called once. */
  readonly ended: (outcome: Outcome) => void;
}
