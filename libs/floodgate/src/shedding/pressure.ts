import type { Measurement } from './measurement.js';

/** The thresholds of a process. At least one of them is given. */
export interface Thresholds {
  /** Milliseconds of the event loop's mean delay. */
  readonly eventLoopDelayMs: number | undefined;
  /** The part of the time in which the event loop works: above 0, below 1. */
  readonly eventLoopUtilization: number | undefined;
  /** Bytes. */
  readonly heapUsed: number | undefined;
  /** Whether the process is over a threshold that the application measures. It does not throw. */
  readonly check: (() => boolean) | undefined;
}

/** A threshold's name in stats. */
export type ThresholdName = 'eventLoopDelay' | 'eventLoopUtilization' | 'heapUsed' | 'check';

/** How near a process is to a threshold. */
export interface Pressure {
  readonly threshold: ThresholdName;
  /** The mean of the window, divided by the threshold. */
  readonly ratio: number;
  /** Whether the newest measurement is over the threshold as well. */
  readonly lasts: boolean;
}

/** The ratio where nothing tells how far the process is over a threshold. */
const UNKNOWN_EXCESS = 1.5;
/** The utilization of an event loop that does not rest: it tells only that there is more to do. */
const SATURATED = 0.99;

/** A moving window of measurements. */
export class PressureWindow {
  private measurements: Measurement[] = [];
  private span = 0;

  /** @param windowMs milliseconds */
  constructor(
    private readonly thresholds: Thresholds,
    private readonly windowMs: number,
  ) {}

  /** Milliseconds that the measurements have taken together. */
  get measuredMs(): number {
    return this.span;
  }

  /** The measurements in the window. */
  get count(): number {
    return this.measurements.length;
  }

  /**
   * Whether the event loop does not rest. Requests may wait in the kernel then, for a connection to be accepted, and no delay of the loop
   * tells of them.
   */
  get isSaturated(): boolean {
    return this.mean(({ utilization }) => utilization) >= SATURATED;
  }

  add(measurement: Measurement): void {
    this.measurements.push(measurement);
    this.span += measurement.elapsedMs;
    while (this.measurements.length > 1 && this.span - this.measurements[0]!.elapsedMs >= this.windowMs) {
      this.span -= this.measurements.shift()!.elapsedMs;
    }
  }

  /** Forgets the measurements. After a step they tell what was before it. */
  clear(): void {
    this.measurements = [];
    this.span = 0;
  }

  /** The mean of a value over the window's time; 0 where it was not measured. */
  mean(pick: (measurement: Measurement) => number | undefined): number {
    let [sum, time] = [0, 0];
    for (const measurement of this.measurements) {
      const value = pick(measurement);
      if (value === undefined) continue;
      sum += value * measurement.elapsedMs;
      time += measurement.elapsedMs;
    }
    return time === 0 ? 0 : sum / time;
  }

  /** The pressure of the threshold that is nearest, or furthest exceeded. Asks `check`. */
  pressure(): Pressure {
    const { eventLoopDelayMs, eventLoopUtilization, heapUsed, check } = this.thresholds;
    const found: Pressure[] = [];
    if (eventLoopDelayMs !== undefined) {
      found.push(this.of('eventLoopDelay', eventLoopDelayMs, ({ delayMs }) => delayMs));
    }
    if (eventLoopUtilization !== undefined) {
      found.push(this.of('eventLoopUtilization', eventLoopUtilization, ({ utilization }) => utilization));
    }
    if (heapUsed !== undefined) found.push(this.of('heapUsed', heapUsed, (measurement) => measurement.heapUsed));
    if (check?.() === true) found.push({ threshold: 'check', ratio: UNKNOWN_EXCESS, lasts: true });
    return found.reduce((worst, one) => (one.ratio > worst.ratio ? one : worst), NONE);
  }

  private of(threshold: ThresholdName, at: number, pick: (measurement: Measurement) => number | undefined): Pressure {
    const mean = this.mean(pick);
    const isSaturated = threshold === 'eventLoopUtilization' && this.isSaturated;
    const newest = this.measurements.at(-1);
    return {
      threshold,
      ratio: isSaturated ? Math.max(UNKNOWN_EXCESS, mean / at) : mean / at,
      lasts: newest !== undefined && (pick(newest) ?? 0) >= at,
    };
  }
}

const NONE: Pressure = { threshold: 'check', ratio: 0, lasts: false };
