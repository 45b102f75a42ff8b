import type { Outcome } from '../../policy/outcome.js';
import type { Client } from './client.js';

/**
 * The life of one request on any transport: who waits for its answer, and how it ends. A `concurrency` lease is held until the
 * ending.
 */
export interface Exchange {
  readonly client: Client;
  /** Stands for the call of the handler that it is the life of. Several guards of one call have one. */
  readonly call: object;
  /** Tells a listener once how the request ends; at once if it has ended. */
  onEnd(listener: EndListener): void;
  /** The request was charged, and its handler is not called: the guard rejects it. */
  abandon(): void;
}

/** What waits for the end of a request. */
export interface EndListener {
  /** Called once the end is certain to be told: at once for HTTP, and elsewhere when the handler is called. */
  readonly began?: () => void;
  /** Called once. */
  readonly ended: (outcome: Outcome) => void;
}
