import type { MessageEvent } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { BusyException } from '../http/busy.js';

/** The page connects again about as often. */
const RETRY_AFTER_S = 5;

export interface BroadcastOptions {
  /** From one look to the next, at least. */
  readonly periodMs: number;
  /** Something is said at least so often, so that who hears nothing knows that the connection is gone. */
  readonly heartbeatMs: number;
  readonly maxViewers: number;
  /** Viewers from one peer (`peerOf`). */
  readonly maxViewersPerPeer: number;
}

/**
 * One look at things for all who watch, and none while nobody does. What did not change is not said again before the heartbeat.
 *
 * @example
 * ```ts
 * const broadcast = new Broadcast(() => ({ type: 'tick', data: look() }), options);
 * broadcast.watch(peer, () => ({ type: 'hello', data: {} })); // an Observable of MessageEvents, which ends with close()
 * ```
 */
export class Broadcast {
  private readonly viewers = new Set<Subscriber<MessageEvent>>();
  private readonly peers = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private looking = false;
  private closed = false;
  private lastSaid = '';
  private lastSaidAt = -Infinity;

  /**
   * @param look what to say, and by what it is told from what was said before; a look that takes long delays the next one,
   *   and one that fails ends the streams with its error
   */
  constructor(
    private readonly look: () => Promise<{ readonly event: MessageEvent; readonly gist: string }>,
    private readonly options: BroadcastOptions,
  ) {}

  get watched(): number {
    return this.viewers.size;
  }

  /** @throws BusyException: 429 beyond `maxViewersPerPeer`, 503 beyond `maxViewers` and once it is closed */
  admit(peer: string): void {
    const { maxViewers, maxViewersPerPeer } = this.options;
    if (this.closed) throw busy(503, 'shutting down');
    if ((this.peers.get(peer) ?? 0) >= maxViewersPerPeer) {
      throw busy(429, `${maxViewersPerPeer} viewers of this address watch already, which is the most`);
    }
    if (this.viewers.size >= maxViewers) throw busy(503, `${maxViewers} viewers watch already, which is the most`);
  }

  /** Begins with `first`. Errs with what `admit` throws. */
  watch(peer: string, first: () => MessageEvent): Observable<MessageEvent> {
    return new Observable((viewer) => {
      try {
        this.admit(peer);
      } catch (error) {
        viewer.error(error);
        return undefined;
      }
      viewer.next(first());
      this.viewers.add(viewer);
      this.peers.set(peer, (this.peers.get(peer) ?? 0) + 1);
      this.lastSaidAt = -Infinity; // the new one has not heard it
      if (this.timer === undefined && !this.looking) this.timer = setTimeout(() => void this.turn(), 0);
      return () => {
        this.viewers.delete(viewer);
        const others = this.peers.get(peer)! - 1;
        if (others === 0) this.peers.delete(peer);
        else this.peers.set(peer, others);
        if (this.viewers.size > 0) return;
        clearTimeout(this.timer);
        this.timer = undefined;
      };
    });
  }

  /** All streams end. */
  close(): void {
    this.closed = true;
    for (const viewer of this.viewers) viewer.complete();
  }

  private async turn(): Promise<void> {
    this.timer = undefined;
    this.looking = true;
    try {
      const { event, gist } = await this.look();
      this.say(event, gist);
    } catch (error) {
      for (const viewer of this.viewers) viewer.error(error);
    } finally {
      this.looking = false;
    }
    if (this.viewers.size > 0) this.timer = setTimeout(() => void this.turn(), this.options.periodMs);
  }

  private say(event: MessageEvent, gist: string): void {
    const now = performance.now();
    if (gist === this.lastSaid && now - this.lastSaidAt < this.options.heartbeatMs) return;
    this.lastSaid = gist;
    this.lastSaidAt = now;
    for (const viewer of this.viewers) viewer.next(event);
  }
}

function busy(status: 429 | 503, message: string): BusyException {
  const error = status === 429 ? 'too_many_viewers' : 'no_more_viewers';
  return new BusyException({ status, error, message, retryAfter: RETRY_AFTER_S });
}
