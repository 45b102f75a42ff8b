import type { Closable } from './waiting-room.js';

interface Watch {
  readonly listeners: Set<() => void>;
  readonly closed: () => void;
}

/** Watches objects that close: one listener on each, however many requests a connection brings at once. */
export class CloseWatch {
  private readonly watches = new WeakMap<Closable, Watch>();

  /** Calls `listener` when the object closes. Returns what ends the watch. */
  add(closable: Closable, listener: () => void): () => void {
    let watch = this.watches.get(closable);
    if (watch === undefined) {
      const listeners = new Set<() => void>();
      watch = { listeners, closed: () => listeners.forEach((one) => one()) };
      this.watches.set(closable, watch);
      closable.on('close', watch.closed);
    }
    const { listeners, closed } = watch;
    listeners.add(listener);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      closable.off('close', closed);
      this.watches.delete(closable);
    };
  }
}
