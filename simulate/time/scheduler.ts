import TinyQueue from 'tinyqueue';

interface Event {
  readonly at: number;
  /** Events of one instant run in the order in which they were scheduled. */
  readonly order: number;
  /** Undefined: cancelled. */
  task: (() => void) | undefined;
}

/** The virtual clock, and what happens when. Time is in microseconds since the simulation began, with fractions. */
export class Scheduler {
  private readonly events = new TinyQueue<Event>([], (one, other) => one.at - other.at || one.order - other.order);
  private order = 0;
  private instant = 0;

  /** Microseconds since the simulation began. */
  get now(): number {
    return this.instant;
  }

  /** Runs `task` at an instant that is not over. Returns what cancels it. */
  at(at: number, task: () => void): () => void {
    const event: Event = { at: Math.max(at, this.instant), order: this.order++, task };
    this.events.push(event);
    return () => (event.task = undefined);
  }

  /** Runs `task` after so many microseconds. Returns what cancels it. */
  after(microseconds: number, task: () => void): () => void {
    return this.at(this.instant + microseconds, task);
  }

  /**
   * Runs the next event that is not later than `end`.
   *
   * @returns false when there is none
   */
  runNext(end: number): boolean {
    const event = this.events.peek();
    if (event === undefined || event.at > end) return false;
    this.events.pop();
    this.instant = event.at;
    event.task?.();
    return true;
  }
}
