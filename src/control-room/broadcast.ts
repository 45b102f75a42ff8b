import { type MessageEvent, ServiceUnavailableException } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';

export interface BroadcastOptions {
  /** From one look to the next, at least. */
  readonly periodMs: number;
  /** Something is said at least so often, so that who hears nothing knows that the connection is gone. */
  readonly heartbeatMs: number;
  readonly maxViewers: number;
}

/**
 * One look at things for all who watch, and none while nobody does. What did not change is not said again before the heartbeat.
 *
 * @example
 * ```ts
 * const broadcast = new Broadcast(() => ({ type: 'tick', data: look() }), options);
 * broadcast.watch({ type: 'hello', data: {} }); // an Observable of MessageEvents, which ends with close()
 * ```
 */
export class Broadcast {
  private readonly viewers = new Set<Subscriber<MessageEvent>>();
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

  /** Begins with `first`. Errs with a 503 beyond `maxViewers`, and once it is closed. */
  watch(first: () => MessageEvent): Observable<MessageEvent> {
    return new Observable((viewer) => {
      const { maxViewers } = this.options;
      if (this.closed || this.viewers.size >= maxViewers) {
        const why = this.closed ? 'shutting down' : `${maxViewers} viewers watch already, which is the most`;
        viewer.error(new ServiceUnavailableException(why));
        return undefined;
      }
      viewer.next(first());
      this.viewers.add(viewer);
      this.lastSaidAt = -Infinity; // the new one has not heard it
      if (this.timer === undefined && !this.looking) this.timer = setTimeout(() => void this.turn(), 0);
      return () => {
        this.viewers.delete(viewer);
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
