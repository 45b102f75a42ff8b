/**
 * The algorithms as a textbook states them, one request of cost 1 at a time, in exact arithmetic and written from their
 * definitions alone: they share nothing with the library.
 */
export interface Textbook {
  /** Whether the request at this microsecond is admitted, and the microsecond until which it then has to wait. */
  ask(at: bigint): { readonly allowed: boolean; readonly departsAt: bigint };
}

const MICROSECONDS = 1_000_000n;

/** `refill` is a whole number of tokens per second. */
export class TextbookTokenBucket implements Textbook {
  /** In millionths of a token. */
  private tokens: bigint;
  private last: bigint | undefined;
  /** The last request that found the bucket full. No refill was lost since then. */
  fullAt = 0n;

  constructor(
    private readonly capacity: bigint,
    private readonly refill: bigint,
  ) {
    this.tokens = capacity * MICROSECONDS;
  }

  ask(at: bigint): { allowed: boolean; departsAt: bigint } {
    this.tokens = least(this.capacity * MICROSECONDS, this.tokens + (at - (this.last ?? at)) * this.refill);
    this.last = at;
    if (this.tokens === this.capacity * MICROSECONDS) this.fullAt = at;
    const allowed = this.tokens >= MICROSECONDS;
    if (allowed) this.tokens -= MICROSECONDS;
    return { allowed, departsAt: at };
  }
}

/** `drain` counts departures per second. A request that finds the queue empty departs at once and takes no place. */
export class TextbookLeakyBucket implements Textbook {
  /** The next free slot in microseconds x drain, a unit in which the time between slots is a whole number. */
  private next = 0n;
  /** The last request that found the queue empty. No slot passed unused since then. */
  idleAt = 0n;

  constructor(
    private readonly capacity: bigint,
    private readonly drain: bigint,
  ) {}

  ask(at: bigint): { allowed: boolean; departsAt: bigint } {
    const now = at * this.drain;
    const slot = this.next > now ? this.next : now;
    if (slot === now) this.idleAt = at;
    // A request that waits for n departures is the n-th in the queue.
    const allowed = slot - now <= this.capacity * MICROSECONDS;
    if (allowed) this.next = slot + MICROSECONDS;
    return { allowed, departsAt: ceilDivide(slot, this.drain) };
  }
}

/** `window` is a number of microseconds, as in the textbooks below. */
export class TextbookFixedWindow implements Textbook {
  private readonly counts = new Map<bigint, bigint>();

  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
  ) {}

  ask(at: bigint): { allowed: boolean; departsAt: bigint } {
    const window = at / this.window;
    const count = this.counts.get(window) ?? 0n;
    const allowed = count < this.limit;
    if (allowed) this.counts.set(window, count + 1n);
    return { allowed, departsAt: at };
  }
}

export class TextbookLog implements Textbook {
  private readonly admitted: bigint[] = [];
  private expired = 0;

  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
  ) {}

  ask(at: bigint): { allowed: boolean; departsAt: bigint } {
    while (this.expired < this.admitted.length && this.admitted[this.expired]! <= at - this.window) this.expired++;
    const allowed = BigInt(this.admitted.length - this.expired) < this.limit;
    if (allowed) this.admitted.push(at);
    return { allowed, departsAt: at };
  }
}

export class TextbookCounter implements Textbook {
  private readonly counts = new Map<bigint, bigint>();

  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
  ) {}

  ask(at: bigint): { allowed: boolean; departsAt: bigint } {
    const window = at / this.window;
    const elapsed = at % this.window;
    const current = this.counts.get(window) ?? 0n;
    const previous = this.counts.get(window - 1n) ?? 0n;
    // previous x (window - elapsed) / window + current + 1 <= limit
    const allowed = previous * (this.window - elapsed) <= (this.limit - current - 1n) * this.window;
    if (allowed) this.counts.set(window, current + 1n);
    return { allowed, departsAt: at };
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}
