import type { Client } from 'floodgate';
import type { EndListener, Exchange } from 'floodgate/internal';
import { Ending, whenGone } from 'floodgate/internal-boot';
import type { Call } from './call.js';

/**
 * A call that ends with its handler, with the iteration of what the handler returned, or when its client leaves before. A call
 * whose handler is never called, because another guard rejects it, has no visible end.
 */
export class CallExchange implements Exchange {
  constructor(
    readonly call: Call,
    readonly client: Client,
  ) {}

  onEnd(listener: EndListener): void {
    const ending = new Ending(this.call, listener);
    // Nest calls no handler of a gateway for a client that has left.
    if (this.client.gone) {
      ending.end(undefined, true);
      return;
    }
    let unwatch = (): void => {};
    this.call.listen({
      began: () => {
        if (this.call.isOver) return;
        unwatch();
        listener.began?.();
        unwatch = whenGone(this.client, () => ending.end(undefined, true));
      },
      ended: () => {
        unwatch();
        ending.end(undefined, this.client.gone || this.call.wasStopped);
      },
    });
  }

  abandon(): void {
    this.call.abandoned();
  }
}

/** A connection: it ends when its client leaves, which is no abort once its handler has run. */
export class ConnectionExchange implements Exchange {
  constructor(
    readonly call: Call,
    readonly client: Client,
  ) {}

  onEnd(listener: EndListener): void {
    const ending = new Ending(this.call, listener);
    listener.began?.();
    whenGone(this.client, () => ending.end(undefined, !this.call.isOver));
  }

  /** The connection is closed, which ends it. */
  abandon(): void {
    if (!this.client.gone) this.call.abandoned();
  }
}
