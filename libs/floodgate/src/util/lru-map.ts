/**
 * A bounded map of the entries that were used last (LRU). Beyond a bound it drops the entries whose last `get` or `set` is the
 * longest ago.
 *
 * @example
 * ```ts
 * const texts = new LruMap<string>(1_000, { max: 1_000_000, of: ({ length }) => length });
 * ```
 */
export class LruMap<V> {
  private readonly indexes = new Map<string, number>();
  /** Keys by place, from 1. */
  private readonly keys: string[];
  private readonly values: (V | undefined)[];
  private readonly free: number[] = [];
  // The places in a ring, by their last use. Place 0 stands between the newest and the oldest. Objects would take 32 bytes more.
  private readonly newer: Uint32Array;
  private readonly older: Uint32Array;
  private weight = 0;

  /**
   * @param maxSize the most entries
   * @param weights the most that all entries weigh together; without it they weigh nothing
   */
  constructor(
    private readonly maxSize: number,
    private readonly weights?: { readonly max: number; readonly of: (value: V) => number },
  ) {
    const length = maxSize + 2; // one more entry stands in the ring until another one is dropped for it
    // Arrays that grow would reserve up to half as much again.
    this.keys = Array.from({ length });
    this.values = Array.from({ length });
    this.newer = new Uint32Array(length);
    this.older = new Uint32Array(length);
  }

  get size(): number {
    return this.indexes.size;
  }

  get(key: string): V | undefined {
    const index = this.indexes.get(key);
    if (index === undefined) return undefined;
    if (index !== this.older[0]) {
      this.unlink(index);
      this.link(index);
    }
    return this.values[index];
  }

  set(key: string, value: V): void {
    this.delete(key);
    const index = this.free.pop() ?? this.indexes.size + 1;
    this.indexes.set(key, index);
    this.keys[index] = key;
    this.values[index] = value;
    this.weight += this.weights?.of(value) ?? 0;
    this.link(index);
    while (this.indexes.size > this.maxSize || this.weight > (this.weights?.max ?? 0)) {
      this.delete(this.keys[this.newer[0]!]!);
    }
  }

  delete(key: string): void {
    const index = this.indexes.get(key);
    if (index === undefined) return;
    this.indexes.delete(key);
    this.unlink(index);
    this.weight -= this.weights?.of(this.values[index]!) ?? 0;
    this.keys[index] = '';
    this.values[index] = undefined;
    this.free.push(index);
  }

  private link(index: number): void {
    const newest = this.older[0]!;
    this.newer[newest] = index;
    this.older[index] = newest;
    this.newer[index] = 0;
    this.older[0] = index;
  }

  private unlink(index: number): void {
    const newer = this.newer[index]!;
    const older = this.older[index]!;
    this.older[newer] = older;
    this.newer[older] = newer;
  }
}
