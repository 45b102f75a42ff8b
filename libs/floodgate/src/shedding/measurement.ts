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
  /** The looks so far, and the sum of what they found. */
  private looks = 0;
  private lookedNs = 0;
  private utilization = performance.eventLoopUtilization();
  private at = performance.now();

  start(): void {
    this.delays.enable();
    this.delay();
    this.utilization = performance.eventLoopUtilization();
    this.at = performance.now();
  }

  measure(): Measurement {
    const { at, utilization } = this;
    this.at = performance.now();
    this.utilization = performance.eventLoopUtilization();
    return {
      elapsedMs: this.at - at,
      delayMs: this.delay(),
      utilization: performance.eventLoopUtilization(this.utilization, utilization).utilization,
      heapUsed: getHeapStatistics().used_heap_size,
    };
  }

  stop(): void {
    this.delays.disable();
  }

  /**
   * The mean of the looks since the last call. The histogram is not reset between them: it leaves out the first look after a reset, which
   * in a busy process is the only one.
   */
  private delay(): number | undefined {
    const { looks, lookedNs, delays } = this;
    this.looks = delays.count;
    this.lookedNs = this.looks === 0 ? 0 : delays.mean * this.looks;
    if (this.looks === looks) return undefined;
    // The histogram holds the time between two looks: an idle process has the resolution there.
    return Math.max(0, (this.lookedNs - lookedNs) / (this.looks - looks) / NS_PER_MS - RESOLUTION_MS);
  }
}
