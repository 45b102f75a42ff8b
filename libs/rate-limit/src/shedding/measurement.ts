import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** What a process was like since the measurement before. */
export interface Measurement {
  /** Milliseconds since the measurement before. */
  readonly elapsedMs: number;
  /** The mean delay of the event loop in milliseconds; undefined where it was not measured. */
  readonly delayMs: number | undefined;
  /** The part of the time in which the event loop did something: 0 to 1. */
  readonly utilization: number;
  /** The bytes of the heap in use. */
  readonly heapUsed: number;
}

/** Measures a process. Tests replace it. */
export interface Meter {
  start(): void;
  measure(): Measurement;
  stop(): void;
}

/** Milliseconds between two looks of `perf_hooks` at the event loop. */
const RESOLUTION_MS = 10;
const NS_PER_MS = 1e6;

/** Measures this process by `perf_hooks`, whose timer is native: no JavaScript runs between two measurements. */
export class ProcessMeter implements Meter {
  private readonly delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private utilization = performance.eventLoopUtilization();
  private at = performance.now();

  start(): void {
    this.delays.enable();
    this.delays.reset();
    this.utilization = performance.eventLoopUtilization();
    this.at = performance.now();
  }

  measure(): Measurement {
    const { delays, at, utilization } = this;
    this.at = performance.now();
    this.utilization = performance.eventLoopUtilization();
    // The histogram holds the time between two looks: an idle process has the resolution there.
    const delayMs = delays.count === 0 ? undefined : Math.max(0, delays.mean / NS_PER_MS - RESOLUTION_MS);
    delays.reset();
    return {
      elapsedMs: this.at - at,
      delayMs,
      utilization: performance.eventLoopUtilization(this.utilization, utilization).utilization,
      heapUsed: getHeapStatistics().used_heap_size,
    };
  }

  stop(): void {
    this.delays.disable();
  }
}
