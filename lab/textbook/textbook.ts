import { type Count, leastWait, type Rate } from './arithmetic.js';

/** What a textbook says to a request: microseconds, and `delay` until the departure of an admitted request. */
export interface Answer {
  readonly allowed: boolean;
  readonly delay: number;
}

/** All that a textbook says to a request. */
export interface Verdict extends Answer {
  readonly remaining: number;
  readonly resetAfter: number;
  readonly retryAfter: number;
}

/**
 * The limit of one key as a textbook defines it, in exact arithmetic: the oracle of the tests and of the simulation. Each
 * algorithm defines what is free at an instant. Everything else follows from that by definition. It shares nothing with the
 * library, as a lint rule checks.
 *
 * Instants and durations are whole microseconds. They never step back: `ask` and `charge` throw a RangeError.
 *
 * @example
 * ```ts
 * const bucket = new TextbookTokenBucket(5, perSecond(10));
 * bucket.ask(0); // { allowed: true, delay: 0 }
 * ```
 */
export abstract class Textbook {
  /** The last instant at which a charge found the whole limit free. */
  wholeSince = 0;
  private readonly whole: bigint;
  private reached = -Infinity;

  /**
   * @param maxCost the cost that fits into the unused limit
   * @param limit the largest `remaining`
   * @param unit the parts of one request in which the free limit is a whole number
   */
  protected constructor(
    readonly maxCost: number,
    private readonly limit: number,
    protected readonly unit: bigint,
  ) {
    this.whole = BigInt(maxCost) * unit;
  }

  /** What is free at an instant that is not before the last charge, in parts of a request. Less than 0 after too large charges. */
  protected abstract free(at: number): bigint;

  protected abstract take(at: number, cost: number): void;

  /** Microseconds from an instant until the departure of a request. */
  protected delay(_at: number): number {
    return 0;
  }

  /**
   * Decides a request, and charges it if it is admitted. Cost 0 asks for 1 and charges nothing.
   *
   * @param headroom what has to stay free behind an admitted request
   */
  ask(at: number, cost = 1, headroom = 0): Answer {
    this.reach(at);
    const allowed = this.fits(at, (cost || 1) + headroom);
    const delay = allowed ? this.delay(at) : 0;
    if (allowed) this.charge(at, cost);
    return { allowed, delay };
  }

  /** Decides like `ask`, and adds the fields that describe the limit afterwards. */
  verdict(at: number, cost = 1, headroom = 0): Verdict {
    const answer = this.ask(at, cost, headroom);
    const retryAfter = answer.allowed ? 0 : this.retryAfter(at, (cost || 1) + headroom);
    const remaining = Math.max(0, this.remaining(at) - headroom);
    return { ...answer, remaining, resetAfter: this.resetAfter(at), retryAfter };
  }

  /** Charges a cost, whether it fits or not. */
  charge(at: number, cost: number): void {
    this.reach(at);
    if (cost === 0) return;
    if (this.isWhole(at)) this.wholeSince = at;
    this.take(at, cost);
  }

  /** Notes an instant at which a charge was made that has been taken back as a whole. */
  begin(_at: number): void {
    // Most limits know nothing of it.
  }

  /** Whether a request of this cost is admitted if nothing is charged before it. */
  fits(at: number, cost: number): boolean {
    return BigInt(cost) * this.unit <= this.free(at);
  }

  isWhole(at: number): boolean {
    return this.free(at) === this.whole;
  }

  remaining(at: number): number {
    return Math.min(this.limit, Math.max(0, Number(this.free(at) / this.unit)));
  }

  /** Microseconds until the whole limit is free. */
  resetAfter(at: number): number {
    return leastWait(at, (instant) => this.isWhole(instant));
  }

  /** Microseconds until a request of this cost fits; Infinity if it never does. */
  retryAfter(at: number, cost: number): number {
    return cost > this.maxCost ? Infinity : leastWait(at, (instant) => this.fits(instant, cost));
  }

  private reach(at: number): void {
    if (at < this.reached) throw new RangeError(`an instant must not be before ${this.reached}, got ${at}`);
    this.reached = at;
  }
}

/** Tokens, and the last refill. */
export class TextbookTokenBucket extends Textbook {
  private readonly refill: bigint;
  private readonly capacity: bigint;
  private tokens: bigint;
  private refilledAt: number | undefined;

  constructor(capacity: number, { tokens, microseconds }: Rate) {
    super(capacity, capacity, BigInt(microseconds));
    this.refill = BigInt(tokens);
    this.tokens = this.capacity = BigInt(capacity) * this.unit;
  }

  protected free(at: number): bigint {
    const tokens = this.tokens + BigInt(at - (this.refilledAt ?? at)) * this.refill;
    return tokens < this.capacity ? tokens : this.capacity;
  }

  protected take(at: number, cost: number): void {
    this.tokens = this.free(at) - BigInt(cost) * this.unit;
    this.refilledAt = at;
  }
}

/**
 * A queue of departure slots that are at least one period apart. A request of cost n takes n slots and departs at the first one.
 * One that finds the queue empty departs at once and takes no waiting place.
 */
export class TextbookLeakyBucket extends Textbook {
  private readonly drain: bigint;
  private readonly places: bigint;
  /** The next free slot in microseconds x drain, a unit in which a period is a whole number. */
  private next = 0n;

  /** @param capacity the waiting places */
  constructor(capacity: number, { tokens, microseconds }: Rate) {
    super(capacity + 1, capacity, BigInt(microseconds));
    this.drain = BigInt(tokens);
    this.places = BigInt(capacity) * this.unit;
  }

  /** The last slot of a request must not be later than its waiting places take to depart. */
  protected free(at: number): bigint {
    return this.places + this.unit - this.wait(at);
  }

  protected take(at: number, cost: number): void {
    this.next = BigInt(at) * this.drain + this.wait(at) + BigInt(cost) * this.unit;
  }

  protected override delay(at: number): number {
    return Number((this.wait(at) + this.drain - 1n) / this.drain);
  }

  /** How long the next slot is away, in microseconds x drain. */
  private wait(at: number): bigint {
    const wait = this.next - BigInt(at) * this.drain;
    return wait > 0n ? wait : 0n;
  }
}

/** Keeps all charges, and counts those that the definition of the window names. */
abstract class TextbookWindow extends Textbook {
  private readonly instants: number[] = [];
  /** At i: the cost of the first i charges. */
  private readonly sums: number[] = [0];

  /** @param window microseconds */
  constructor(
    limit: number,
    protected readonly window: number,
    unit: Count = 1,
  ) {
    super(limit, limit, BigInt(unit));
  }

  protected take(at: number, cost: number): void {
    this.instants.push(at);
    this.sums.push(this.sums.at(-1)! + cost);
  }

  /** What was charged from one instant until before another. */
  protected countBetween(from: number, end: number): bigint {
    return BigInt(this.sums[this.chargesBefore(end)]! - this.sums[this.chargesBefore(from)]!);
  }

  /** The first instant of the aligned window that contains an instant. */
  protected startOf(at: number): number {
    return at - (at % this.window);
  }

  private chargesBefore(instant: number): number {
    let [low, high] = [0, this.instants.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.instants[middle]! < instant) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** At most the limit in each aligned window. */
export class TextbookFixedWindow extends TextbookWindow {
  protected free(at: number): bigint {
    const start = this.startOf(at);
    return BigInt(this.maxCost) - this.countBetween(start, start + this.window);
  }

  /** The end of the window, also while nothing is charged. */
  override resetAfter(at: number): number {
    return this.startOf(at) + this.window - at;
  }
}

/** At most the limit in each window, which begins with the first charge that finds none. */
export class TextbookFirstRequestWindow extends TextbookWindow {
  private start = -Infinity;

  protected free(at: number): bigint {
    return BigInt(this.maxCost) - (this.stands(at) ? this.countBetween(this.start, this.start + this.window) : 0n);
  }

  protected override take(at: number, cost: number): void {
    this.begin(at);
    super.take(at, cost);
  }

  /** A window stands to its end, also without the charge that began it. */
  override begin(at: number): void {
    if (!this.stands(at)) this.start = at;
  }

  /** The end of the window, or of one that begins now. */
  override resetAfter(at: number): number {
    return (this.stands(at) ? this.start : at) + this.window - at;
  }

  private stands(at: number): boolean {
    return at < this.start + this.window;
  }
}

/** At most the limit, of the aligned window and of that part of the one before it which a sliding window still covers. */
export class TextbookCounter extends TextbookWindow {
  constructor(limit: number, window: number) {
    super(limit, window, window);
  }

  protected free(at: number): bigint {
    const start = this.startOf(at);
    const end = start + this.window;
    const weighted = this.countBetween(start - this.window, start) * BigInt(end - at);
    return (BigInt(this.maxCost) - this.countBetween(start, end)) * this.unit - weighted;
  }
}

/** At most the limit in every interval as long as the window. */
export class TextbookLog extends TextbookWindow {
  protected free(at: number): bigint {
    return BigInt(this.maxCost) - this.countBetween(at - this.window + 1, at + 1);
  }
}
