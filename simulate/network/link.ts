import type { Random } from '../time/random.js';
import type { Scheduler } from '../time/scheduler.js';

/** How long a message takes. */
export interface Delay {
  /** Microseconds one way at least. */
  readonly microseconds: number;
  /** Mean microseconds more, exponentially distributed. */
  readonly jitter: number;
  /** The part of the messages that get lost; default 0. */
  readonly loss?: number;
}

/** The way between two places, which may break. */
export class Path {
  private broken = false;

  constructor(readonly delay: Delay) {}

  get isBroken(): boolean {
    return this.broken;
  }

  /** What is sent from now on is lost, and nobody is told. */
  break(): void {
    this.broken = true;
  }

  mend(): void {
    this.broken = false;
  }
}

/** One direction of a connection: messages arrive in the order in which they were sent, as over TCP. */
export class Direction {
  private lastArrival = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly path: Path,
    private readonly random: Random,
  ) {}

  /**
   * Sends a message. A message that is lost, or that arrives after the path broke, never arrives.
   *
   * @param at the instant of sending
   */
  send(at: number, arrive: () => void): void {
    const { path } = this;
    const { microseconds, jitter, loss = 0 } = path.delay;
    if (path.isBroken || (loss > 0 && this.random.next() < loss)) return;
    const arrival = Math.max(this.lastArrival, at + microseconds + this.random.exponential(jitter));
    this.lastArrival = arrival;
    this.scheduler.at(arrival, () => {
      if (!path.isBroken) arrive();
    });
  }
}
