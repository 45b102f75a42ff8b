import { type Meter, ProcessMeter } from './measurement.js';
import { PressureWindow, type ThresholdName, type Thresholds } from './pressure.js';
import { ShedLevel, type ShedRequestsStats } from './shed-level.js';
import { unheld } from '../util/runtime.js';

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
  /** The level of shedding: from 0, where all requests pass, to 1, where no request of the classes that give way does. Three decimals. */
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
/** The ratio to a threshold from which the process is far over it: its queue grows, and steps come sooner. */
const FAR_OVER = 3;
/** The ratio at least of an event loop that does not rest although a step has been taken. */
const STILL_SATURATED = 2;
/** The part of a window that has to be over a threshold before the process sheds something, and before it sheds more. */
const FIRST_STEP_AFTER = { near: 1, far: 0.4 };
const NEXT_STEP_AFTER = { near: 0.5, far: 0.2 };
/** How many times between two measurements may pass until a request measures the process. */
const OVERDUE = 2;

const every: Repeat = (run, everyMs) => {
  const timer = unheld(setInterval(run, everyMs));
  return () => clearInterval(timer);
};

/**
 * Decides whether this process has to reject requests to keep up with the others. One timer measures the process; a request
 * reads `active`. In an overload one turn of the event loop may take seconds, since it serves all requests that are there: where the timer is
 * overdue, a request measures the process.
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
  private isActive = false;
  private readonly everyMs: number;
  /** When the timer should have run. Monotonic milliseconds. */
  private timerAt = Infinity;
  /** When a request measures the process, if the timer has not. */
  private overdueAt = Infinity;
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
   * @param nowMs monotonic milliseconds
   */
  constructor(
    private readonly settings: ShedSettings,
    private readonly changed: (stats: SheddingStats) => void = () => {},
    private readonly meter: Meter = new ProcessMeter(),
    private readonly repeat: Repeat = every,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.everyMs = settings.windowMs / MEASUREMENTS;
    this.window = new PressureWindow(settings.thresholds, settings.windowMs);
    this.level = new ShedLevel(settings.classes);
  }

  /** Begins to measure. */
  start(): void {
    if (this.end !== undefined) return;
    this.meter.start();
    this.expectTimer();
    this.end = this.repeat(() => {
      this.measure(0);
      this.expectTimer();
    }, this.everyMs);
  }

  /** Ends measuring and shedding. */
  stop(): void {
    this.end?.();
    this.end = undefined;
    this.timerAt = this.overdueAt = Infinity;
    this.meter.stop();
    this.isActive = false;
    this.window.clear();
  }

  /** Whether some requests may be rejected: what each request reads. */
  get active(): boolean {
    const now = this.nowMs();
    if (now >= this.overdueAt) {
      this.overdueAt = now + OVERDUE * this.everyMs;
      this.measure(now - this.timerAt);
    }
    return this.isActive;
  }

  /** Whether a request is rejected, and counts it. A class that does not give way is not. */
  rejects(priority: string): boolean {
    return this.isActive && this.level.rejects(priority);
  }

  /** The place of a class among those that give way, lowest first; undefined for a class that never does. */
  rankOf(priority: string): number | undefined {
    return this.level.rankOf(priority);
  }

  stats(): SheddingStats {
    const { isActive: active, level, threshold, delayMs, utilization } = this;
    return {
      active,
      level: active ? shownLevel(level.value) : 0,
      threshold: active ? threshold : undefined,
      eventLoopDelayMs: rounded(delayMs),
      eventLoopUtilization: rounded(utilization),
      rejected: level.rejected,
    };
  }

  private expectTimer(): void {
    this.timerAt = this.nowMs() + this.everyMs;
    this.overdueAt = this.timerAt + (OVERDUE - 1) * this.everyMs;
  }

  /** @param lateMs how long the timer has been waiting for the end of this turn: nothing else tells how long the turn takes */
  private measure(lateMs: number): void {
    const { window, level, settings, isActive: before } = this;
    const measured = this.meter.measure();
    window.add(lateMs > 0 ? { ...measured, delayMs: Math.max(measured.delayMs ?? 0, lateMs) } : measured);
    this.delayMs = window.mean(({ delayMs }) => delayMs);
    this.utilization = window.mean(({ utilization }) => utilization);
    const { ratio, threshold, lasts } = window.pressure();
    if (ratio >= 1) {
      // What is measured does not tell how far over it is, but the step before was too small.
      const isSaturated = before && window.isSaturated;
      const after = before ? NEXT_STEP_AFTER : FIRST_STEP_AFTER;
      const enough = settings.windowMs * (isSaturated || ratio >= FAR_OVER ? after.far : after.near);
      // One long turn of the event loop is one measurement, however long it takes.
      if (!lasts || window.count < 2 || window.measuredMs < enough) return;
      this.isActive = true;
      this.threshold = threshold;
      level.shedMore(isSaturated ? Math.max(ratio, STILL_SATURATED) : ratio);
    } else {
      if (!before || ratio >= RELEASE_BELOW || window.measuredMs < settings.windowMs) return;
      level.shedLess(ratio);
      this.isActive = level.value > 0;
    }
    window.clear();
    if (this.isActive !== before) this.changed(this.stats());
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** 0 and 1 mean none and all, so that a level between them is not rounded to either. */
function shownLevel(level: number): number {
  return level === 0 || level === 1 ? level : Math.min(0.999, Math.max(0.001, rounded(level)));
}
