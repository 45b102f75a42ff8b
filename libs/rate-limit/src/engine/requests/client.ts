/** Who waits for the answer to a request, on any transport. */
export interface Client {
  /** Whether nobody waits for the answer any more. Once true, it stays true. */
  readonly gone: boolean;
  /**
   * Calls `listener` when the client leaves. A client that has gone already need not call it: `whenGone` does.
   *
   * @returns what ends the watch
   */
  onGone(listener: () => void): () => void;
}

/** What emits an event when it closes: a socket, a response, a stream, a call. */
export interface Emitter {
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

const nothing = (): void => {};

/** A client of whom nobody hears: that of a message broker, or of a queue. */
export const UNSEEN_CLIENT: Client = { gone: false, onGone: () => nothing };

/**
 * Who waits for the answer, of an `AbortSignal` that is aborted when they leave: for contexts of the application.
 *
 * @example
 * ```ts
 * const jobs: ContextAdapter = { ..., client: (context) => clientOf(context.getArgByIndex<Job>(0).signal) };
 * ```
 */
export function clientOf(signal: AbortSignal): Client {
  return {
    get gone() {
      return signal.aborted;
    },
    onGone(listener) {
      signal.addEventListener('abort', listener);
      return () => signal.removeEventListener('abort', listener);
    },
  };
}

/**
 * Calls `listener` once when the client leaves, and at once if it has gone: the event cannot be missed.
 *
 * @returns what ends the watch
 */
export function whenGone(client: Client, listener: () => void): () => void {
  if (client.gone) {
    listener();
    return nothing;
  }
  let isOver = false;
  let unwatch = nothing;
  const end = (): void => {
    isOver = true;
    unwatch();
  };
  unwatch = client.onGone(() => {
    if (isOver) return;
    end();
    listener();
  });
  if (isOver) unwatch();
  return end;
}

interface Watch {
  readonly listeners: Set<() => void>;
  readonly emitted: () => void;
}

/** Watches emitters for one event: one listener on each, however many requests a connection brings at once. */
export class EventWatch {
  private readonly watches = new WeakMap<Emitter, Watch>();

  /** @param event such as `'close'` */
  constructor(private readonly event: string) {}

  /**
   * Calls `listener` when the emitter emits the event.
   *
   * @returns what ends the watch
   */
  add(emitter: Emitter, listener: () => void): () => void {
    let watch = this.watches.get(emitter);
    if (watch === undefined) {
      const listeners = new Set<() => void>();
      watch = { listeners, emitted: () => listeners.forEach((one) => one()) };
      this.watches.set(emitter, watch);
      emitter.on(this.event, watch.emitted);
    }
    const { listeners, emitted } = watch;
    listeners.add(listener);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      emitter.off(this.event, emitted);
      this.watches.delete(emitter);
    };
  }
}
