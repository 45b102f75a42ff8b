interface Watch {
  readonly listeners: Set<() => void>;
  readonly aborted: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `listener` once when the signal is aborted. Adds one listener to a signal, however many calls wait for it: Node warns of a
 * leak from the eleventh on.
 *
 * @returns what ends the watch
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const watch = watches.get(signal) ?? begin(signal);
  const { listeners, aborted } = watch;
  // A listener of its own for each call: a function may be given twice.
  const own = (): void => listener();
  listeners.add(own);
  return () => {
    if (!listeners.delete(own) || listeners.size > 0) return;
    signal.removeEventListener('abort', aborted);
    if (watches.get(signal) === watch) watches.delete(signal);
  };
}

function begin(signal: AbortSignal): Watch {
  const listeners = new Set<() => void>();
  const aborted = (): void => {
    watches.delete(signal);
    for (const listener of listeners) listener();
  };
  const watch = { listeners, aborted };
  watches.set(signal, watch);
  signal.addEventListener('abort', aborted, { once: true });
  return watch;
}
