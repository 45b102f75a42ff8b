import { type Meter, ProcessMeter } from './measurement.js';
import { PressureWindow, type ThresholdName, type Thresholds } from './pressure.js';
import { ShedLevel, type ShedRequestsStats } from './shed-level.js';

/** What a `LoadShedder` needs to know. */
export interface ShedSettings {
  readonly thresholds: Thresholds;
  /** The classes that give way, lowest first. */
  readonly classes: readonly string[];
  /** Milliseconds of the moving window. */
  readonly windowMs: number;
}

/** A snapshot of the shedding of a process. */
export interface SheddingStats {
  /** Whether the process rejects requests because it is over a threshold, or was just now. */
  readonly active: boolean;
  /** From 0, where all requests pass, to 1, where no request of the classes that give way does. Three decimals. */
  readonly level: number;
  /** The threshold that the process was last over; undefined while it sheds nothing. */
  readonly threshold: ThresholdName | undefined;
  /** Milliseconds: the mean delay of the event loop in the window. */
  readonly eventLoopDelayMs: number;
  /** The part of the window in which the event loop worked: 0 to 1. */
  readonly eventLoopUtilization: number;
  /** The requests that were rejected, by class, lowest first. */
  readonly rejected: readonly ShedRequestsStats[];
}

/** Calls a function again and again, without keeping the process alive. Returns a function that ends it. */
export type Repeat = (run: () => void, everyMs: number) => () => void;

/** Measurements in a window. */
const MEASUREMENTS = 10;
/** The ratio to the threshold below which the process sheds less. Between it and 1 the level stays. */
const RELEASE_BELOW = 0.8;
/** The part of a window after which a process that is still over a threshold sheds more. */
const NEXT_STEP_AFTER = 0.5;

const every: Repeat = (run, everyMs) => {
  const timer = setInterval(run, everyMs);
  timer.unref();
  return () => clearInterval(timer);
};

/**
 * Decides whether this process has to reject requests to keep up with the others. One timer measures the process; a request
 * reads `active`.
 *
 * It sheds more while the mean of the window is over a threshold, and less once that is below four fifths of it. Each step looks
 * only at what was measured since the last one.
 *
 * @example
 * ```ts
 * const shedder = new LoadShedder({ thresholds, classes: ['background'], windowMs: 500 });
 * shedder.start();
 * if (shedder.active && shedder.rejects('background')) answerBusy();
 * ```
 */
export class LoadShedder {
  /** Whether some requests may be rejected: what each request reads. */
  active = false;
  private readonly window: PressureWindow;
  private readonly level: ShedLevel;
  private threshold: ThresholdName | undefined;
  /** Means of the window, kept when a step clears it. */
  private delayMs = 0;
  private utilization = 0;
  private end: (() => void) | undefined;

  /**
   * @param changed is told when shedding begins and ends
   * @param meter measures the process
   * @param repeat the timer
   */
  constructor(
    private readonly settings: ShedSettings,
    private readonly changed: (stats: SheddingStats) => void = () => {},
    private readonly meter: Meter = new ProcessMeter(),
    private readonly repeat: Repeat = every,
  ) {
    this.window = new PressureWindow(settings.thresholds, settings.windowMs);
    this.level = new ShedLevel(settings.classes);
  }

  /** Begins to measure. */
  start(): void {
    if (this.end !== undefined) return;
    this.meter.start();
    this.end = this.repeat(() => this.measure(), this.settings.windowMs / MEASUREMENTS);
  }

  /** Ends measuring and shedding. */
  stop(): void {
    this.end?.();
    this.end = undefined;
    this.meter.stop();
    this.active = false;
    this.window.clear();
  }

  /** Whether a request is rejected, and counts it. A class that does not give way is not. */
  rejects(priority: string): boolean {
    return this.active && this.level.rejects(priority);
  }

  /** The place of a class among those that give way, lowest first; undefined for a class that never does. */
  rankOf(priority: string): number | undefined {
    return this.level.rankOf(priority);
  }

  stats(): SheddingStats {
    const { active, level, threshold, delayMs, utilization } = this;
    return {
      active,
      level: active ? shownLevel(level.value) : 0,
      threshold: active ? threshold : undefined,
      eventLoopDelayMs: rounded(delayMs),
      eventLoopUtilization: rounded(utilization),
      rejected: level.rejected,
    };
  }

  private measure(): void {
    const { window, level, settings, active: before } = this;
    window.add(this.meter.measure());
    this.delayMs = window.mean(({ delayMs }) => delayMs);
    this.utilization = window.mean(({ utilization }) => utilization);
    const { ratio, threshold, lasts } = window.pressure();
    if (ratio >= 1) {
      const enough = settings.windowMs * (this.active ? NEXT_STEP_AFTER : 1);
      // One long turn of the event loop is one measurement, however long it takes.
      if (!lasts || window.count < 2 || window.measuredMs < enough) return;
      this.active = true;
      this.threshold = threshold;
      level.shedMore(ratio);
    } else {
      if (!this.active || ratio >= RELEASE_BELOW || window.measuredMs < settings.windowMs) return;
      level.shedLess(ratio);
      this.active = level.value > 0;
    }
    window.clear();
    if (this.active !== before) this.changed(this.stats());
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** 0 and 1 mean none and all, so that a level between them is not rounded to either. */
function shownLevel(level: number): number {
  return level === 0 || level === 1 ? level : Math.min(0.999, Math.max(0.001, rounded(level)));
}
