import { onAbort } from '../../util/abort-watch.js';

/** The client that waits for the answer to a request, on any transport. */
export interface Client {
  /** Whether the client has left. Once true, it stays true. */
  readonly gone: boolean;
  /**
   * Calls `listener` when the client leaves. If the client has already left, it need not call it: `whenGone` does.
   *
   * @returns what ends the watch
   */
  onGone(listener: () => void): () => void;
}

/** An object that emits an event when it closes: a socket, a response, a stream, a call. */
export interface Emitter {
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

const nothing = (): void => {};

/** A client whose disconnection cannot be noticed, such as one behind a message broker or a queue. */
export const UNSEEN_CLIENT: Client = { gone: false, onGone: () => nothing };

/**
 * Makes a client from an `AbortSignal` that is aborted when the client leaves, for an application's own contexts.
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
    onGone: (listener) => onAbort(signal, listener),
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

/** The listeners of one emitter. Most have one. */
class Watch {
  private only: (() => void) | undefined;
  private all: Set<() => void> | undefined;

  /** Listens to the emitter. */
  readonly emitted = (): void => {
    if (this.all === undefined) this.only?.();
    else this.all.forEach((one) => one());
  };

  get isEmpty(): boolean {
    return this.all === undefined ? this.only === undefined : this.all.size === 0;
  }

  add(listener: () => void): void {
    if (this.all !== undefined) this.all.add(listener);
    else if (this.only === undefined) this.only = listener;
    else this.all = new Set([this.only, listener]);
  }

  /** False for a listener that was removed before. */
  remove(listener: () => void): boolean {
    if (this.all !== undefined) return this.all.delete(listener);
    if (this.only !== listener) return false;
    this.only = undefined;
    return true;
  }
}

/** Watches emitters for one event: one listener on each, however many requests a connection brings at once. */
export class EventWatch {
  /** The property in which an emitter keeps its watch: a WeakMap of all responses would burden the garbage collector. */
  private readonly mark: symbol;

  /** @param event such as `'close'` */
  constructor(private readonly event: string) {
    this.mark = Symbol(`rate limit ${event}`);
  }

  /**
   * Calls `listener` when the emitter emits the event. A function listens to an emitter once.
   *
   * @returns what ends the watch
   */
  add(emitter: Emitter, listener: () => void): () => void {
    const watched = emitter as Emitter & Record<symbol, Watch | undefined>;
    const { event, mark } = this;
    let watch = watched[mark];
    if (watch === undefined) {
      watch = watched[mark] = new Watch();
      emitter.on(event, watch.emitted);
    }
    const known = watch;
    known.add(listener);
    return () => {
      if (!known.remove(listener) || !known.isEmpty) return;
      emitter.off(event, known.emitted);
      watched[mark] = undefined;
    };
  }
}
