import { ClientGoneError } from '../../identity/errors.js';
import type { RateLimitStats } from '../../watch/stats.js';
import { processTimer, type Timer } from '../../stores/timer.js';
import { type Client, UNSEEN_CLIENT, whenGone } from './client.js';
import { LimiterClosedError, WaitingRoomFullError } from '../../charges/errors.js';
import { unawaited } from '../../util/unawaited.js';

/** How many requests may wait. */
export interface WaitingRoomLimits {
  /** The most requests that may wait in this process. */
  readonly maxWaiting: number;
  /** The most requests of one client that may wait in this process. */
  readonly maxWaitingPerClient: number;
}

interface WaitingRequest {
  readonly cancel: () => void;
  readonly leave: (error: Error) => void;
}

/** Holds requests until their departure slots of a leaky bucket. A request reserves a place before the store is asked. */
export class WaitingRoom {
  private readonly waiting = new Set<WaitingRequest>();
  private readonly perClient = new Map<string, number>();
  private reserved = 0;
  private closed = false;

  /** @param timer lets waiting requests pass; the store's own if the store has a clock of its own */
  constructor(
    private readonly limits: WaitingRoomLimits,
    private readonly timer: Timer = processTimer,
  ) {}

  /** How many requests wait. */
  get size(): number {
    return this.waiting.size;
  }

  /** How many places are reserved: by requests that wait, and by requests whose decision is still to come. */
  get places(): number {
    return this.reserved;
  }

  /**
   * Reserves a place, before the store is asked: a request without a place is rejected and no policy is charged. Every
   * reserved place has to be released once.
   *
   * @param client the identity's tag; undefined where a policy counts all clients together
   * @throws {WaitingRoomFullError} when the process, or the client, has no place left
   * @throws {LimiterClosedError} once `close` was called
   */
  reserve(client: string | undefined): void {
    if (this.closed) throw new LimiterClosedError();
    const held = client === undefined ? -Infinity : (this.perClient.get(client) ?? 0);
    if (this.reserved >= this.limits.maxWaiting || held >= this.limits.maxWaitingPerClient) {
      throw new WaitingRoomFullError();
    }
    this.reserved++;
    if (client !== undefined) this.perClient.set(client, held + 1);
  }

  /** Releases a place that was reserved for `client`. */
  release(client: string | undefined): void {
    this.reserved--;
    if (client === undefined) return;
    const held = this.perClient.get(client)!;
    if (held === 1) this.perClient.delete(client);
    else this.perClient.set(client, held - 1);
  }

  /**
   * Waits until `delayMs` after now and never less. The process stays alive meanwhile.
   *
   * @param waits the client that waits
   * @throws {LimiterClosedError} once `close` was called
   * @throws {ClientGoneError} when the client leaves, and at once if it has gone
   */
  async wait(delayMs: number, waits: Client = UNSEEN_CLIENT): Promise<void> {
    if (delayMs > 0) await this.stay((depart) => this.timer(delayMs, depart), waits);
  }

  /**
   * Waits until something is known that comes by itself. Throws as `wait` does.
   *
   * @param known never rejects
   */
  waitFor(known: Promise<unknown>, waits: Client): Promise<void> {
    return this.stay((depart) => {
      unawaited(known.then(depart));
      return nothing;
    }, waits);
  }

  /** @param begin starts the wait, which `depart` ends; returns a function that cancels it */
  private async stay(begin: (depart: () => void) => () => void, waits: Client): Promise<void> {
    if (this.closed) throw new LimiterClosedError();
    if (waits.gone) throw ClientGoneError.instance;
    await new Promise<void>((resolve, reject) => {
      const depart = (): void => {
        forget();
        resolve();
      };
      const leave = (error: Error): void => {
        request.cancel();
        forget();
        reject(error);
      };
      const request: WaitingRequest = { cancel: begin(depart), leave };
      this.waiting.add(request);
      let unwatch = (): void => {};
      const forget = (): void => {
        this.waiting.delete(request);
        unwatch();
      };
      unwatch = whenGone(waits, () => leave(ClientGoneError.instance));
    });
  }

  stats(): Pick<RateLimitStats, 'waiting'> {
    return { waiting: this.size };
  }

  /** Rejects the requests that wait, and all that come later. */
  close(): void {
    this.closed = true;
    // Begins with the last request, because queues take back their slots from the end.
    for (const { leave } of [...this.waiting].toReversed()) leave(new LimiterClosedError());
  }
}

const nothing = (): void => undefined;
