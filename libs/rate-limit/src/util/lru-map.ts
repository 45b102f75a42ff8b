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
  private readonly places = new Map<string, number>();
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
    const places = maxSize + 2; // one more entry stands in the ring until another one is dropped for it
    // Arrays that grow would reserve up to half as much again.
    this.keys = Array.from({ length: places });
    this.values = Array.from({ length: places });
    this.newer = new Uint32Array(places);
    this.older = new Uint32Array(places);
  }

  get size(): number {
    return this.places.size;
  }

  get(key: string): V | undefined {
    const place = this.places.get(key);
    if (place === undefined) return undefined;
    if (place !== this.older[0]) {
      this.unlink(place);
      this.link(place);
    }
    return this.values[place];
  }

  set(key: string, value: V): void {
    this.delete(key);
    const place = this.free.pop() ?? this.places.size + 1;
    this.places.set(key, place);
    this.keys[place] = key;
    this.values[place] = value;
    this.weight += this.weights?.of(value) ?? 0;
    this.link(place);
    while (this.places.size > this.maxSize || this.weight > (this.weights?.max ?? 0)) {
      this.delete(this.keys[this.newer[0]!]!);
    }
  }

  delete(key: string): void {
    const place = this.places.get(key);
    if (place === undefined) return;
    this.places.delete(key);
    this.unlink(place);
    this.weight -= this.weights?.of(this.values[place]!) ?? 0;
    this.keys[place] = '';
    this.values[place] = undefined;
    this.free.push(place);
  }

  private link(place: number): void {
    const newest = this.older[0]!;
    this.newer[newest] = place;
    this.older[place] = newest;
    this.newer[place] = 0;
    this.older[0] = place;
  }

  private unlink(place: number): void {
    const newer = this.newer[place]!;
    const older = this.older[place]!;
    this.older[newer] = older;
    this.newer[older] = newer;
  }
}
