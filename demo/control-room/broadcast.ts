import type { MessageEvent } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { BusyException } from './busy.js';

/** About as long as the page waits before it connects again. */
const RETRY_AFTER_S = 5;

export interface BroadcastOptions {
  /** The shortest time between two looks. */
  readonly periodMs: number;
  /** The longest time between two events. A viewer without an event for longer knows that the connection is lost. */
  readonly heartbeatMs: number;
  readonly maxViewers: number;
  /** The most viewers of one peer (`peerOf`). */
  readonly maxViewersPerPeer: number;
}

/**
 * Sends the result of one look to all viewers, and does not look without viewers. It repeats an unchanged result only as a
 * heartbeat.
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
  private lastGist = '';
  private lastSentAt = -Infinity;

  /**
   * @param look returns an event, and a gist that differs if the event has news. A slow look delays the next one. A look that
   *   fails ends the streams with its error
   */
  constructor(
    private readonly look: () => Promise<{ readonly event: MessageEvent; readonly gist: string }>,
    private readonly options: BroadcastOptions,
  ) {}

  get watched(): number {
    return this.viewers.size;
  }

  /** @throws BusyException: 429 beyond `maxViewersPerPeer`, 503 beyond `maxViewers` and after `close` */
  admit(peer: string): void {
    const { maxViewers, maxViewersPerPeer } = this.options;
    if (this.closed) throw busy(503, 'the process is shutting down');
    if ((this.peers.get(peer) ?? 0) >= maxViewersPerPeer) {
      throw busy(
        429,
        `at most ${maxViewersPerPeer} viewers of one address can watch; close one of them or try again later`,
      );
    }
    if (this.viewers.size >= maxViewers) throw busy(503, `at most ${maxViewers} viewers can watch; try again later`);
  }

  /** A stream that begins with `first`. It errors as `admit` does. */
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
      this.lastSentAt = -Infinity; // the new viewer does not have the last event
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

  /** Ends all streams. */
  close(): void {
    this.closed = true;
    for (const viewer of this.viewers) viewer.complete();
  }

  private async turn(): Promise<void> {
    this.timer = undefined;
    this.looking = true;
    try {
      const { event, gist } = await this.look();
      this.sendAll(event, gist);
    } catch (error) {
      for (const viewer of this.viewers) viewer.error(error);
    } finally {
      this.looking = false;
    }
    if (this.viewers.size > 0) this.timer = setTimeout(() => void this.turn(), this.options.periodMs);
  }

  private sendAll(event: MessageEvent, gist: string): void {
    const now = performance.now();
    if (gist === this.lastGist && now - this.lastSentAt < this.options.heartbeatMs) return;
    this.lastGist = gist;
    this.lastSentAt = now;
    for (const viewer of this.viewers) viewer.next(event);
  }
}

function busy(status: 429 | 503, message: string): BusyException {
  const error = status === 429 ? 'too_many_viewers' : 'no_more_viewers';
  return new BusyException({ status, error, message, retryAfter: RETRY_AFTER_S });
}
