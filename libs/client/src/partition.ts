import { onAbort } from '../../floodgate/src/util/abort-watch.js';
import { Refill } from './refill.js';
import type { LimitReport } from '../../floodgate/src/util/responses/read-response.js';
import type { Statement } from '../../floodgate/src/util/responses/statements.js';
import type { ClientTime } from './time.js';

/** A request that is on its way. */
export interface Permit {
  readonly sentAt: number;
  /** The partition's count of events when the request left. */
  readonly event: number;
}

/** A call that asks to send its request. */
export interface Turn {
  /** Calls leave in this order. */
  readonly order: number;
  /** Until when the call waits, by the clock of the partition. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiting extends Turn {
  /** Ends the wait: with a permit, or undefined when there is none in time. */
  readonly end: (permit: Permit | undefined) => void;
}

interface Known {
  readonly remaining: number;
  /** The partition's count of events when the partition learned it. */
  readonly event: number;
  readonly until: number;
}

/** How the time of waits is spread. */
export interface Spread {
  readonly jitter: number;
  readonly random: () => number;
}

/** A request without an answer for longer does not hold others back. */
const LEASE_MS = 10_000;
/** How long a statement counts that no later one replaces. */
const KNOWN_MS = 60_000;
/** How long to wait for a limit with nothing left, where charges may be refunded at any time. */
const ESTIMATE_MS = 1000;
/** The names of limits that a partition remembers: a server may name a new one in each answer. */
const MAX_KNOWN = 64;
/** The name of what a partition assumes after a rejection: a server may say nothing of its limits on success. */
const RAMP = '\nramp';
/** A ramp of this width holds nothing back any more. */
const WIDEST_RAMP = 64;
const LONGEST_SPREAD_MS = 30_000;
/** The longest wait that is believed: an instant in the place of seconds would silence the client for decades. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
/** The spread of repeated rejections counts a shorter wait as this long. */
const SHORTEST_SPREAD_MS = 100;

/**
 * The requests that share a limit: what the client knows of the limit, and the calls that wait for it, in their order.
 *
 * - After a rejection, or once nothing remains, all calls wait. Then one leaves, and its response tells how many follow.
 * - `remaining` bounds the requests on their way. A response replaces what was known only if its request left after that was
 *   learned: of two concurrent statements the smaller one counts.
 * - While no request is on its way and no wait is on, one may always leave. No wrong statement can block a partition for good.
 */
export class Partition {
  private readonly queue: Waiting[] = [];
  private readonly flights = new Set<Permit>();
  private readonly known = new Map<string, Known>();
  private events = 0;
  /** Before this instant the server wants no request; `openAt` adds the jitter. */
  private allowedAt = -Infinity;
  private openAt = -Infinity;
  private heldByFields = false;
  /** The count of events when the last rejection arrived, and how many came in a row. */
  private rejectedAt = -1;
  private rejections = 0;
  private readonly refill = new Refill();
  private cancelTimer: (() => void) | undefined;

  constructor(
    private readonly time: ClientTime,
    private readonly spread: Spread,
  ) {}

  /** Milliseconds until requests leave again. */
  get waitMs(): number {
    return Math.max(0, this.openAt - this.time.now());
  }

  /** Whether no call waits and no request is on its way. */
  get idle(): boolean {
    return this.queue.length === 0 && this.flights.size === 0;
  }

  /** Whether the partition can be dropped without loss. */
  get forgettable(): boolean {
    if (!this.idle) return false;
    const now = this.time.now();
    return now >= this.openAt && this.bound(now) === Infinity;
  }

  /** A permit without a wait; undefined when the call has to wait. */
  tryLeave(): Permit | undefined {
    const now = this.time.now();
    return this.queue.length === 0 && now >= this.openAt && this.vacant(now) > 0 ? this.leave(now) : undefined;
  }

  /**
   * Waits for the call's turn. Resolves to undefined when there is no turn before its deadline: at once if that is certain.
   *
   * @throws the signal's reason when it aborts
   */
  async wait(turn: Turn): Promise<Permit | undefined> {
    const { signal, order, deadline } = turn;
    signal?.throwIfAborted();
    if (deadline < this.openAt) return undefined;
    let unwatch: (() => void) | undefined;
    let cancelDeadline: (() => void) | undefined;
    try {
      return await new Promise<Permit | undefined>((end, reject) => {
        const waiting: Waiting = { ...turn, end };
        const before = this.queue.findLastIndex((other) => other.order < order);
        this.queue.splice(before + 1, 0, waiting);
        const drop = (): void => {
          const index = this.queue.indexOf(waiting);
          if (index >= 0) this.queue.splice(index, 1);
        };
        if (signal !== undefined) {
          unwatch = onAbort(signal, () => {
            drop();
            reject(signal.reason as Error);
          });
        }
        cancelDeadline = this.time.setTimer(
          () => {
            drop();
            end(undefined);
          },
          Math.max(0, Math.ceil(deadline - this.time.now())),
        );
        this.pump();
      });
    } finally {
      cancelDeadline?.();
      unwatch?.();
      // The call that went away may have been the only one for which a timer runs.
      this.pump();
    }
  }

  /** Takes in what a response tells; undefined when there was none. */
  settle(permit: Permit, told: LimitReport | undefined): void {
    this.flights.delete(permit);
    const event = ++this.events;
    const now = this.time.now();
    if (told !== undefined) {
      const { retryAfterMs, precision } = told;
      if (retryAfterMs === undefined) this.succeed(permit, told.statements, event, now);
      else {
        const delayMs = believed(retryAfterMs);
        // Nothing is to be learned from a limit that waits for refunds.
        if (precision !== 'estimated') this.refill.rejected(told.statements, delayMs, precision === 'exact', now);
        this.reject(permit, told.statements, delayMs, event, now);
      }
    }
    this.pump();
  }

  private succeed(permit: Permit, statements: readonly Statement[], event: number, now: number): void {
    const ramp = this.known.get(RAMP);
    if (ramp !== undefined && permit.event >= ramp.event) {
      this.rejections = 0;
      const remaining = ramp.remaining + 1;
      if (statements.length > 0 || remaining >= WIDEST_RAMP) this.known.delete(RAMP);
      // The event stays, so that each of the requests that were sent together widens the ramp.
      else this.known.set(RAMP, { remaining, event: ramp.event, until: now + KNOWN_MS });
    }
    for (const statement of statements) {
      const waitMs = statement.remaining === 0 ? this.emptied(statement, permit) : 0;
      this.learn(permit, statement, event, now + waitMs);
      if (waitMs > 0 && this.hold(waitMs, now)) this.heldByFields = true;
    }
  }

  /** Milliseconds to wait after a success that leaves nothing. */
  private emptied(statement: Statement, { sentAt }: Permit): number {
    return statement.estimated ? ESTIMATE_MS : believed(this.refill.emptied(statement, sentAt));
  }

  private reject(permit: Permit, statements: readonly Statement[], delayMs: number, event: number, now: number): void {
    // Only a request that left after the last rejection was known says anything new about how crowded the limit is.
    if (permit.event >= this.rejectedAt && this.rejectedAt >= 0) this.rejections++;
    this.rejectedAt = event;
    for (const statement of statements) this.learn(permit, statement, event, now + delayMs);
    this.known.set(RAMP, { remaining: 1, event, until: now + delayMs + KNOWN_MS });
    // `Retry-After` takes precedence over the other fields, whose seconds may be rounded up.
    if (this.heldByFields) this.allowedAt = -Infinity;
    this.hold(delayMs, now);
    this.heldByFields = false;
  }

  /** @param from when requests may leave again */
  private learn(permit: Permit, { limit, remaining }: Statement, event: number, from: number): void {
    const known = this.known.get(limit);
    const least = known !== undefined && permit.event < known.event ? Math.min(known.remaining, remaining) : remaining;
    this.known.delete(limit); // the order is that in which they were learned
    this.known.set(limit, { remaining: least, event, until: from + KNOWN_MS });
    if (this.known.size <= MAX_KNOWN) return;
    for (const name of this.known.keys()) {
      if (name === RAMP) continue;
      this.known.delete(name);
      return;
    }
  }

  /** Keeps all requests back, and ends the waits whose deadline comes before the next one leaves. */
  private hold(delayMs: number, now: number): boolean {
    if (now + delayMs <= this.allowedAt) return false;
    const { jitter, random } = this.spread;
    const repeated = Math.max(delayMs, SHORTEST_SPREAD_MS) * 2 ** (this.rejections - 1);
    const spreadMs = jitter > 0 && this.rejections > 0 ? repeated : jitter * delayMs;
    this.allowedAt = now + delayMs;
    this.openAt = this.allowedAt + random() * Math.min(spreadMs, LONGEST_SPREAD_MS);
    for (let i = this.queue.length - 1; i >= 0; i--) {
      if (this.queue[i]!.deadline < this.openAt) this.queue.splice(i, 1)[0]!.end(undefined);
    }
    return true;
  }

  /** Lets the calls go that may leave, and sets a timer for the next instant at which that changes. */
  private pump(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    while (this.queue.length > 0) {
      const now = this.time.now();
      // A timer may fire early: only the clock tells.
      if (now < this.openAt) {
        this.pumpIn(this.openAt - now);
        return;
      }
      if (this.vacant(now) <= 0) {
        const [oldest] = this.flights;
        this.pumpIn(oldest!.sentAt + LEASE_MS - now);
        return;
      }
      this.queue.shift()!.end(this.leave(now));
    }
  }

  private pumpIn(ms: number): void {
    if (this.queue.length > 0) this.cancelTimer = this.time.setTimer(() => this.pump(), Math.ceil(ms));
  }

  private leave(now: number): Permit {
    const permit: Permit = { sentAt: now, event: this.events };
    this.flights.add(permit);
    return permit;
  }

  /** How many requests may leave now, as far as the client knows. */
  private vacant(now: number): number {
    for (const permit of this.flights) {
      if (permit.sentAt + LEASE_MS > now) break;
      this.flights.delete(permit);
    }
    const vacant = this.bound(now) - this.flights.size;
    return this.flights.size === 0 ? Math.max(1, vacant) : vacant;
  }

  /** The bound on requests that are on their way; forgets what is too old. */
  private bound(now: number): number {
    let bound = Infinity;
    for (const [limit, { remaining, until }] of this.known) {
      if (until <= now) this.known.delete(limit);
      else bound = Math.min(bound, remaining);
    }
    return bound;
  }
}

/** A sum with what is not finite would make the partition forget what the time is. */
function believed(ms: number): number {
  return ms <= LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
}
