/** Failures in a row after which nobody is sent to Redis any more. */
const FAILURES = 5;
/** Milliseconds until the first probe; each is followed by one half as long again, up to the cap. */
const FIRST_PROBE_MS = 250;
const GROWTH = 1.5;
/** Recovery is to be noticed within half a second, whenever it comes. */
const MAX_PROBE_MS = 400;
/** Processes that lost Redis together do not come back together: a pause is cut short by up to a fifth. */
const JITTER = 0.2;

/** What a breaker is given: the question that tells whether Redis is back, and the world's time and chance. */
export interface BreakerSettings {
  /** Asks what a decision asks, and charges nobody; rejects while Redis cannot decide. */
  readonly probe: () => Promise<unknown>;
  /** Called at each change of state. */
  readonly changed: (open: boolean, reason: string) => void;
  /** Runs `task` once after `ms`; returns what cancels it. */
  readonly schedule?: (task: () => void, ms: number) => () => void;
  readonly random?: () => number;
}

/**
 * A circuit breaker around one Redis. Closed: everybody asks. After five failures in a row it opens: nobody does, but for one
 * probe at a time, until that is answered. Probes are its own, on a timer: no request is ever risked to find out, so that
 * none is charged that was decided elsewhere, and recovery needs no traffic.
 *
 * Not a library's: those run requests through themselves and probe with one of them. Pattern: Nygard, "Release It!", 2007.
 */
export class Breaker {
  private failures = 0;
  private opened = false;
  private closing = false;
  private probing = false;
  private pauseMs = FIRST_PROBE_MS;
  private cancel: (() => void) | undefined;
  private readonly schedule: NonNullable<BreakerSettings['schedule']>;
  private readonly random: () => number;

  constructor(private readonly settings: BreakerSettings) {
    this.schedule = settings.schedule ?? later;
    this.random = settings.random ?? Math.random;
  }

  /** Whether nobody is to be sent. */
  get open(): boolean {
    return this.opened;
  }

  /** Redis answered somebody. While open that is an answer from before: only a probe closes. */
  succeeded(): void {
    this.failures = 0;
  }

  /** Redis could not be asked, or could not answer. */
  failed(reason: string): void {
    if (!this.opened && ++this.failures >= FAILURES) this.trip(reason);
  }

  /** Opens at once: what is known needs no five failures. */
  trip(reason: string): void {
    if (this.opened || this.closing) return;
    this.opened = true;
    this.pauseMs = FIRST_PROBE_MS;
    this.settings.changed(true, reason);
    this.pause();
  }

  /** There is reason to think that Redis is back. */
  probeNow(): void {
    if (!this.opened || this.probing || this.closing) return;
    this.cancel?.();
    this.probing = true;
    this.settings.probe().then(
      () => this.probed(true),
      () => this.probed(false),
    );
  }

  /** No probe any more. */
  close(): void {
    this.closing = true;
    this.cancel?.();
  }

  private probed(healthy: boolean): void {
    this.probing = false;
    if (this.closing) return;
    if (!healthy) {
      this.pause();
      return;
    }
    this.opened = false;
    this.failures = 0;
    this.settings.changed(false, '');
  }

  private pause(): void {
    this.cancel = this.schedule(() => this.probeNow(), this.pauseMs * (1 - JITTER * this.random()));
    this.pauseMs = Math.min(MAX_PROBE_MS, this.pauseMs * GROWTH);
  }
}

function later(task: () => void, ms: number): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}
