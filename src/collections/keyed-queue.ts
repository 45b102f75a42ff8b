import TinyQueue from 'tinyqueue';

export interface Keyed<T> {
  readonly key: number;
  readonly item: T;
}

/** A queue that returns the item with the smallest key first. Items with equal keys have no particular order. */
export function keyedQueue<T>(): TinyQueue<Keyed<T>> {
  return new TinyQueue<Keyed<T>>([], (a, b) => a.key - b.key);
}
