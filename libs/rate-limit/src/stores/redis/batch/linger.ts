/** Longer waits save little: 5 ms at 4,000 requests/s are 24 requests a call, of the 32 that fit. */
export const MAX_LINGER_MS = 5;
/** A request waits if at least this many others are expected within the time. With 1, two requests share each call. */
const MIN_COMPANIONS = 0.8;
/** Waiting goes on while at least this many requests join a wait, on average. Chance alone rarely brings fewer. */
const MIN_JOINED = 0.25;
/** The time over which arrivals are averaged. A burst of 30 requests in a quiet pod is not enough to make others wait. */
const AVERAGED_MS = 250;
/** The weight of the last wait in the average. */
const LAST_WAIT = 1 / 8;
/** How long requests do not wait after too few have joined. */
const REST_MS = 1_000;

/** Whether a value can be `linger`: it is whole, because timers count whole milliseconds. */
export function isLingerMs(ms: unknown): ms is number {
  return Number.isInteger(ms) && (ms as number) >= 0 && (ms as number) <= MAX_LINGER_MS;
}

/**
 * Decides whether requests wait for others to share a call with.
 *
 * Arrivals alone do not tell. Callers that await each answer before they ask again (a worker of a queue, say) look like many
 * arrivals, but while their requests wait, no other request can come. So it also counts the requests that have joined.
 */
export class Linger {
  /** The number of arrivals, each weighted by its age. */
  private arrivals = 0;
  /** When `arrivals` was last updated. */
  private at = 0;
  /** Requests that joined a wait, averaged over the last waits. */
  private joined = 1;
  private restsUntil = 0;

  /**
   * @param ms the longest wait
   * @param now milliseconds of a clock that never steps
   */
  constructor(
    readonly ms: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Whether a request that comes alone should wait. @param lanes among which requests scatter */
  isWorthIt(lanes: number): boolean {
    const now = this.now();
    if (now < this.restsUntil) return false;
    this.decayTo(now);
    return (this.arrivals / AVERAGED_MS) * this.ms >= MIN_COMPANIONS * lanes;
  }

  /** Counts requests that have left together. */
  left(requests: number): void {
    this.decayTo(this.now());
    this.arrivals += requests;
  }

  /** Counts the requests that have joined those which waited. @param lanes among which they scattered */
  waited(joined: number, lanes: number): void {
    this.joined += (joined / lanes - this.joined) * LAST_WAIT;
    if (this.joined >= MIN_JOINED) return;
    this.joined = 1;
    this.restsUntil = this.now() + REST_MS;
  }

  private decayTo(now: number): void {
    this.arrivals *= Math.exp((this.at - now) / AVERAGED_MS);
    this.at = now;
  }
}
