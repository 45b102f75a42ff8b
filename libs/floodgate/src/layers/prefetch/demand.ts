/** Estimates the recent demand for a key, in requests and in cost: over about one `length`, without a list of instants. */
export class Demand {
  private since = -Infinity;
  private requests = 0;
  private cost = 0;
  private requestsBefore = 0;
  private costBefore = 0;

  /** @param length milliseconds */
  constructor(private readonly length: number) {}

  note(cost: number, now: number): void {
    if (now - this.since >= this.length) this.begin(now);
    this.requests++;
    this.cost += cost;
  }

  /** The approximate number of requests in the last `length`. */
  requestsAt(now: number): number {
    return this.requests + this.requestsBefore * this.weightAt(now);
  }

  /** Their approximate cost. */
  costAt(now: number): number {
    return this.cost + this.costBefore * this.weightAt(now);
  }

  /** The weight of the previous period, as in the sliding window counter. */
  private weightAt(now: number): number {
    return Math.max(0, 1 - (now - this.since) / this.length);
  }

  private begin(now: number): void {
    const isNext = now - this.since < 2 * this.length;
    this.requestsBefore = isNext ? this.requests : 0;
    this.costBefore = isNext ? this.cost : 0;
    this.since = isNext ? this.since + this.length : now;
    this.requests = 0;
    this.cost = 0;
  }
}
