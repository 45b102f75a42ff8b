interface Entry<V> {
  readonly key: string;
  readonly value: V;
  readonly weight: number;
  newer: Entry<V> | undefined;
  older: Entry<V> | undefined;
}

/**
 * A bounded map of the entries that were used last (LRU). Beyond a bound it drops the entries whose last `get` or `set` is the
 * longest ago.
 *
 * @example
 * ```ts
 * const texts = new RecentMap<string>(1_000, { max: 1_000_000, of: ({ length }) => length });
 * ```
 */
export class RecentMap<V> {
  private readonly entries = new Map<string, Entry<V>>();
  // Entries are linked by their last use. Deleting and setting again in the Map would order them as well, at five times the cost.
  private newest: Entry<V> | undefined;
  private oldest: Entry<V> | undefined;
  private weight = 0;

  /**
   * @param maxSize the most entries
   * @param weights the most that all entries weigh together; without it they weigh nothing
   */
  constructor(
    private readonly maxSize: number,
    private readonly weights?: { readonly max: number; readonly of: (value: V) => number },
  ) {}

  get size(): number {
    return this.entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.newest) {
      this.unlink(entry);
      this.link(entry);
    }
    return entry.value;
  }

  set(key: string, value: V): void {
    this.delete(key);
    const entry = { key, value, weight: this.weights?.of(value) ?? 0, newer: undefined, older: undefined };
    this.entries.set(key, entry);
    this.weight += entry.weight;
    this.link(entry);
    while (this.entries.size > this.maxSize || this.weight > (this.weights?.max ?? 0)) this.delete(this.oldest!.key);
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.weight -= entry.weight;
    this.unlink(entry);
  }

  private link(entry: Entry<V>): void {
    entry.older = this.newest;
    if (this.newest === undefined) this.oldest = entry;
    else this.newest.newer = entry;
    this.newest = entry;
  }

  private unlink(entry: Entry<V>): void {
    const { newer, older } = entry;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    entry.newer = undefined;
    entry.older = undefined;
  }
}
