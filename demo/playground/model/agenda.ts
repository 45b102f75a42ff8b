import TinyQueue from 'tinyqueue';

interface Entry<T> {
  readonly at: number;
  readonly order: number;
  readonly what: T;
}

/** What is due when; of one instant in the order in which it was added. */
export class Agenda<T> {
  private readonly queue = new TinyQueue<Entry<T>>([], (a, b) => a.at - b.at || a.order - b.order);
  private added = 0;

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  add(at: number, what: T): void {
    this.queue.push({ at, order: this.added++, what });
  }

  /** Takes out the next entry if it is due at `now`. */
  due(now: number): { readonly at: number; readonly what: T } | undefined {
    const next = this.queue.peek();
    return next === undefined || next.at > now ? undefined : this.queue.pop();
  }
}
