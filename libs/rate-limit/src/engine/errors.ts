import { withHelp } from '../util/error-codes.js';
import { alwaysReadable } from '../util/thrown.js';

/** The limiter could not decide on a request, or could not keep it waiting. No policy was charged. */
export class LimiterUnavailableError extends Error {
  static {
    alwaysReadable(this);
  }

  override readonly name: string = 'LimiterUnavailableError';
  /** Milliseconds after which another attempt makes sense. */
  readonly retryAfterMs: number = 1000;
}

/** Too many requests wait for a leaky bucket's departure slots: in this process, or of one client. */
export class WaitingRoomFullError extends LimiterUnavailableError {
  override readonly name = 'WaitingRoomFullError';

  constructor() {
    super('Too many requests are waiting');
  }
}

/** The application is shutting down: requests no longer wait for departure slots. */
export class LimiterClosedError extends LimiterUnavailableError {
  override readonly name = 'LimiterClosedError';

  constructor() {
    super('The server is shutting down');
  }
}

/** A reservation cannot be settled: it was settled, cancelled or rejected before. Nothing changed. */
export class ReservationClosedError extends Error {
  override readonly name = 'ReservationClosedError';
  readonly code = 'FG_RESERVATION_CLOSED';

  /** @param problem such as `settle(150): the reservation was cancelled before` */
  constructor(problem: string) {
    super(withHelp(problem, 'FG_RESERVATION_CLOSED'));
  }
}
