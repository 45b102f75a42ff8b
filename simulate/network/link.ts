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

/** What a path does with messages: it lets them pass, loses them and tells nobody, or keeps them until it is mended. */
type Passage = 'open' | 'lost' | 'held';

/** From the pod to the server, or back. */
export type Way = 'there' | 'back';

/** The way between two places, which may break, in each of its directions. */
export class Path {
  private readonly passages: Record<Way, Passage> = { there: 'open', back: 'open' };
  private held: (() => void)[] = [];

  constructor(readonly delay: Delay) {}

  /** What is sent from now on, or under way, is lost, and nobody is told; or it is held. */
  break(ways: readonly Way[] = ['there', 'back'], passage: Passage = 'lost'): void {
    for (const way of ways) this.passages[way] = passage;
  }

  /** Lets what was held pass, in the order of its arrival. */
  mend(): void {
    this.break(['there', 'back'], 'open');
    for (const arrive of this.held.splice(0)) arrive();
  }

  isLost(way: Way): boolean {
    return this.passages[way] === 'lost';
  }

  /** A message has arrived. */
  pass(way: Way, arrive: () => void): void {
    if (this.passages[way] === 'open') arrive();
    else if (this.passages[way] === 'held') this.held.push(arrive);
  }
}

/** One direction of a connection: messages arrive in the order in which they were sent, as over TCP. */
export class Direction {
  private lastArrival = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly path: Path,
    private readonly random: Random,
    private readonly way: Way = 'there',
  ) {}

  /**
   * Sends a message. A message that is lost, or that arrives after the path broke, never arrives.
   *
   * @param at the instant of sending
   */
  send(at: number, arrive: () => void): void {
    const { path, way } = this;
    const { microseconds, jitter, loss = 0 } = path.delay;
    if (path.isLost(way) || (loss > 0 && this.random.next() < loss)) return;
    const arrival = Math.max(this.lastArrival, at + microseconds + this.random.exponential(jitter));
    this.lastArrival = arrival;
    this.scheduler.at(arrival, () => path.pass(way, arrive));
  }
}
