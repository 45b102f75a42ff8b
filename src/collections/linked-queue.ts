/** An item's place in a `LinkedQueue`. */
export interface Place<T> {
  readonly item: T;
  older: Place<T> | undefined;
  newer: Place<T> | undefined;
}

/** Items in order of arrival. They leave from either end or from the middle, each in constant time. */
export class LinkedQueue<T> {
  private oldestPlace: Place<T> | undefined;
  private newestPlace: Place<T> | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  get oldest(): T | undefined {
    return this.oldestPlace?.item;
  }

  get newest(): T | undefined {
    return this.newestPlace?.item;
  }

  add(item: T): Place<T> {
    const place: Place<T> = { item, older: this.newestPlace, newer: undefined };
    if (this.newestPlace === undefined) this.oldestPlace = place;
    else this.newestPlace.newer = place;
    this.newestPlace = place;
    this.count++;
    return place;
  }

  /** @param place a place in this queue that has not been removed before */
  remove({ older, newer }: Place<T>): void {
    if (older === undefined) this.oldestPlace = newer;
    else older.newer = newer;
    if (newer === undefined) this.newestPlace = older;
    else newer.older = older;
    this.count--;
  }
}
