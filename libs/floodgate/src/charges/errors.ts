import { withHelp } from '../util/error-codes.js';
import { alwaysReadable } from '../util/thrown.js';

const TOO_MANY_WAIT = 'Too many requests are waiting';

/**
 * The limiter could not decide on a request, or could not keep it waiting. No policy was charged.
 *
 * @example if (error instanceof LimiterUnavailableError) await retryIn(error.retryAfterMs);
 */
export class LimiterUnavailableError extends Error {
  static {
    alwaysReadable(this);
  }

  override readonly name: string = 'LimiterUnavailableError';
  /** Milliseconds after which another attempt makes sense. */
  readonly retryAfterMs: number = 1000;

  /** @internal The text for a client whose request ends with the error. It names no policy and no option. */
  get toldToClients(): string {
    return this.message;
  }
}

/**
 * Too many requests wait for a leaky bucket's departure slots: in this process, or of one client.
 *
 * @example if (error instanceof WaitingRoomFullError) response.statusCode = 503;
 */
export class WaitingRoomFullError extends LimiterUnavailableError {
  override readonly name = 'WaitingRoomFullError';

  constructor() {
    super(TOO_MANY_WAIT);
  }
}

/**
 * The limiter has closed, or the application is shutting down. Requests no longer wait for departure slots.
 *
 * @example if (error instanceof LimiterClosedError) return;
 */
export class LimiterClosedError extends LimiterUnavailableError {
  override readonly name = 'LimiterClosedError';

  constructor() {
    super('The limiter is closed');
  }

  /** @internal */
  override get toldToClients(): string {
    return 'The server is shutting down';
  }
}

/**
 * Too many calls wait for one policy in this process (`maxQueuedCalls`). The call was not charged, and did not run.
 *
 * @example if (error instanceof CallQueueFullError) await retryIn(error.retryAfterMs);
 */
export class CallQueueFullError extends LimiterUnavailableError {
  override readonly name = 'CallQueueFullError';
  readonly code = 'FG_CALL_QUEUE_FULL';

  /**
   * @param policy the policy's name
   * @param most how many calls may wait: the module's `maxQueuedCalls`, or the part of it that the class may fill
   * @param priority the class of the call, where it may fill a part alone
   */
  constructor(policy: string, most: number, priority?: string) {
    const room =
      priority === undefined ? 'maxQueuedCalls' : `the part of maxQueuedCalls that the class '${priority}' may fill`;
    super(
      withHelp(
        `RateLimiter.schedule: ${most} calls wait for '${policy}', which is ${room}. Schedule fewer at once, or raise it`,
        'FG_CALL_QUEUE_FULL',
      ),
    );
  }

  /** @internal */
  override get toldToClients(): string {
    return TOO_MANY_WAIT;
  }
}

/**
 * A call did not get its turn within `maxWait`. It did not run, and what it was charged is refunded.
 *
 * @example if (error instanceof CallWaitError) await retryIn(error.retryAfterMs);
 */
export class CallWaitError extends LimiterUnavailableError {
  override readonly name = 'CallWaitError';
  readonly code = 'FG_CALL_WAIT';
  /** Milliseconds after which another attempt makes sense. */
  override readonly retryAfterMs: number;

  /** @param policies the names of those that let it wait, such as `'partner'` */
  constructor(policies: string, maxWaitMs: number, retryAfterMs: number, cause?: unknown) {
    super(
      withHelp(`RateLimiter.schedule: no turn under ${policies} within maxWait (${maxWaitMs} ms)`, 'FG_CALL_WAIT'),
      cause === undefined ? undefined : { cause },
    );
    this.retryAfterMs = retryAfterMs;
  }

  /** @internal */
  override get toldToClients(): string {
    return 'The request would wait too long';
  }
}

/**
 * Too many reservations that expire are open in this process. Nothing was charged.
 *
 * @example if (error instanceof ReservationsFullError) await retryIn(error.retryAfterMs);
 */
export class ReservationsFullError extends LimiterUnavailableError {
  override readonly name = 'ReservationsFullError';
  readonly code = 'FG_RESERVATIONS_FULL';
  /** Milliseconds until the first of them expires; at least 1. */
  override readonly retryAfterMs: number;

  /** @param most reservations that a process settles */
  constructor(most: number, retryAfterMs: number) {
    super(
      withHelp(
        `RateLimiter.reserve: ${most} reservations that expire are open in this process, and nothing else can settle them at their ` +
          `expiry. Settle them, let them expire sooner, or use Redis`,
        'FG_RESERVATIONS_FULL',
      ),
    );
    this.retryAfterMs = Math.max(1, Math.ceil(retryAfterMs));
  }
}

/**
 * A reservation cannot be settled: it was settled, cancelled or rejected before. Nothing changed.
 *
 * @example if (error instanceof ReservationClosedError) console.warn(error.message);
 */
export class ReservationClosedError extends Error {
  override readonly name = 'ReservationClosedError';
  readonly code = 'FG_RESERVATION_CLOSED';

  /** @param problem such as `settle(150): the reservation was cancelled before` */
  constructor(problem: string) {
    super(withHelp(problem, 'FG_RESERVATION_CLOSED'));
  }
}
