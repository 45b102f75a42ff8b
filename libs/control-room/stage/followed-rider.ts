import { type Answer, Random, Rider, type RiderRequest } from '../../riders/index.js';

/** The rider's id. No rider of the crowd and no account has it, so the plan is that of all strangers. */
export const FOLLOWED = 'rider-you';

/** In the surge: before it, a burst would be more than the limit of a small city lets through. */
const FIRST_BURST_MS = 2500;
const MIN_BURST = 7;
const MAX_BURST = 10;
const MIN_PAUSE_MS = 3600;
const MAX_PAUSE_MS = 4400;
/** Between two requests of a burst: one after the other is easier to see. */
const GAP_MS = 40;
/** Streams of the seed that no rider of the crowd has. */
const STREAM = 3_000_000;

/** One rider who sends a burst of ride requests every few seconds, without waiting for answers. The same seed sends the same bursts. */
export class FollowedRider {
  private readonly random: Random;
  private readonly rider: Rider;
  private timer: NodeJS.Timeout | undefined;
  private left = 0;

  constructor(
    seed: number,
    private readonly send: (request: RiderRequest) => Promise<Answer>,
  ) {
    this.random = new Random(seed, STREAM);
    this.rider = new Rider(seed, STREAM + 1);
  }

  start(): void {
    this.timer = setTimeout(() => this.burst(), FIRST_BURST_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private burst(): void {
    this.left = this.random.whole(MIN_BURST, MAX_BURST);
    this.next();
  }

  private next(): void {
    void this.send({ ...this.rider.next(), route: 'rides', riderId: FOLLOWED });
    this.left--;
    this.timer =
      this.left > 0
        ? setTimeout(() => this.next(), GAP_MS)
        : setTimeout(() => this.burst(), this.random.between(MIN_PAUSE_MS, MAX_PAUSE_MS));
  }
}
