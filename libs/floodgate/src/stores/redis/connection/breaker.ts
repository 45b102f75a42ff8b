import { clearTimeout, setTimeout } from '../../../util/real-timers.js';
import { unheld } from '../../../util/runtime.js';

/** Failures in a row after which no request is sent to Redis. */
const FAILURES = 5;
/** Milliseconds until the first probe. Each pause is half as long again as the one before, up to the cap. */
const FIRST_PROBE_MS = 250;
const GROWTH = 1.5;
/** Recovery has to be noticed within half a second, whenever it comes. */
const MAX_PROBE_MS = 400;
/** The largest part by which chance shortens a pause: processes that lose Redis together must not come back together. */
const JITTER = 0.2;

export interface BreakerSettings {
  /** Asks Redis for a decision that charges no client; rejects while Redis cannot decide. */
  readonly probe: () => Promise<unknown>;
  /** Called at every change of state. */
  readonly changed: (open: boolean, reason: string) => void;
  /** Runs `task` after `ms` milliseconds; returns a function that cancels it. */
  readonly schedule?: (task: () => void, ms: number) => () => void;
  readonly random?: () => number;
}

/**
 * A circuit breaker around one Redis. While it is closed, every request is sent. Five failures in a row open it: no request is
 * sent, only one probe at a time, until a probe succeeds. The probes run on a timer, so no request is charged in Redis after
 * it was decided elsewhere, and recovery needs no traffic.
 *
 * Breaker libraries probe with a request, so none is used here. Pattern: Nygard, "Release It!", 2007.
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

  /** Whether no request may be sent. */
  get open(): boolean {
    return this.opened;
  }

  /** Redis answered a batch. An open breaker stays open: the batch was sent before it opened, and only a probe closes it. */
  succeeded(): void {
    this.failures = 0;
  }

  /** Redis did not answer a batch, or reported trouble. */
  failed(reason: string): void {
    if (!this.opened && ++this.failures >= FAILURES) this.trip(reason);
  }

  /** Opens at once, for a reason that is certain. */
  trip(reason: string): void {
    if (this.opened || this.closing) return;
    this.opened = true;
    this.pauseMs = FIRST_PROBE_MS;
    this.settings.changed(true, reason);
    this.pause();
  }

  /** Probes at once: Redis may be back. */
  probeNow(): void {
    if (!this.opened || this.probing || this.closing) return;
    this.cancel?.();
    this.probing = true;
    this.settings.probe().then(
      () => this.probed(true),
      () => this.probed(false),
    );
  }

  /** Ends the probes. */
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
  const timer = unheld(setTimeout(task, ms));
  return () => clearTimeout(timer);
}
