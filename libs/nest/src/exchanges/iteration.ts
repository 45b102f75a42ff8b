/** A listener to one iteration. */
export interface IterationListener {
  next(value: unknown): void;
  failed(error: unknown): void;
  /** Called once. @param wasStopped whether the consumer has stopped before the source was exhausted or failed */
  ended(wasStopped: boolean): void;
}

/**
 * Wraps an iteration so that a listener learns its end; undefined for a value that cannot be iterated. It ends when its
 * consumer stops, without waiting for the source: a generator that is awaiting something handles `return()` only afterwards.
 */
export function tracked(value: unknown, listener: IterationListener): AsyncIterableIterator<unknown> | undefined {
  if (!isAsyncIterable(value)) return undefined;
  const source = value[Symbol.asyncIterator]();
  let isOver = false;
  const end = (wasStopped: boolean): void => {
    if (isOver) return;
    isOver = true;
    listener.ended(wasStopped);
  };
  const fail = (error: unknown): never => {
    if (!isOver) listener.failed(error);
    end(false);
    throw error;
  };
  const next = async (): Promise<IteratorResult<unknown>> => {
    try {
      const result = await source.next();
      if (result.done === true) end(false);
      else if (!isOver) listener.next(result.value);
      return result;
    } catch (error) {
      return fail(error);
    }
  };
  return {
    next,
    return: async (returned?: unknown) => {
      end(true);
      return (await source.return?.(returned)) ?? { done: true, value: returned };
    },
    throw: async (error?: unknown) => {
      if (!isOver) listener.failed(error);
      end(true);
      if (source.throw === undefined) throw error;
      return source.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function';
}
