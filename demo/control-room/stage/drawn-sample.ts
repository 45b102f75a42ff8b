import type { Dot, DrawnRequests, Outcome } from './surge-tick.js';

/** Twice as many would be half as large: the picture has a place for each request of the minute. */
const MAX_DRAWN_PER_SECOND = 20;

/** One of so many requests is drawn. @param demand requests per second */
export function drawnOneOf(demand: number): number {
  return Math.max(1, Math.ceil(demand / MAX_DRAWN_PER_SECOND));
}

/** Without a viewer no one takes the sample, and older requests are dropped. */
const MAX_KEPT = 400;

/** Chooses the requests of a world that the page draws. It decides when a request is sent, so that each drawn one has its answer. */
export class DrawnSample {
  /** All of the run, oldest answer first: what a page that is loaded later draws. */
  readonly dots: Dot[] = [];
  private turn = 0;
  private ids = 0;
  private sent: DrawnRequests['sent'][number][] = [];
  private answered: DrawnRequests['answered'][number][] = [];

  /** @param oneOf one of so many requests is drawn */
  constructor(private readonly oneOf: number) {}

  /** @returns the function to call with the answer; undefined: the request is not drawn */
  note(atMs: number): ((outcome: Outcome, answeredAtMs: number) => void) | undefined {
    if (this.turn++ % this.oneOf !== 0) return undefined;
    const id = ++this.ids;
    keep(this.sent, [id, atMs]);
    return (outcome, answeredAtMs) => {
      const dot: Dot = [atMs, answeredAtMs - atMs, outcome];
      this.dots.push(dot);
      keep(this.answered, { id, dot });
    };
  }

  /** The requests and answers since the last call. */
  take(): DrawnRequests {
    const { sent, answered } = this;
    this.sent = [];
    this.answered = [];
    return { sent, answered };
  }
}

function keep<T>(things: T[], thing: T): void {
  things.push(thing);
  if (things.length > MAX_KEPT) things.shift();
}
