import type { EndListener } from './exchange.js';

/** What a handler has returned or thrown by now. */
export interface Returned {
  readonly error: unknown;
  readonly value: unknown;
}

/** Tells a listener once how a request ended, with what its handler has returned or thrown by then. */
export class Ending {
  private readonly since = performance.now();
  private hasEnded = false;

  constructor(
    private readonly returned: Returned,
    private readonly listener: EndListener,
  ) {}

  end(status: number | undefined, aborted: boolean): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const { error, value } = this.returned;
    this.listener.ended({ status, error, value, durationMs: performance.now() - this.since, aborted });
  }
}
