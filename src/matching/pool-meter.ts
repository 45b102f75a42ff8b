import { build, type Histogram } from 'hdr-histogram-js';
import type { MatchingStatistics, Waits } from './matching-statistics.js';

/** Recent figures cover one to two periods. */
const PERIOD_MS = 2000;

const MICROSECONDS = 1000;

interface Period {
  readonly waits: Histogram;
  startedAt: number;
  /** The value of `busyMs` when the period began. */
  busyMs: number;
}

/** Counts and times the work of a pool. Histograms bound its memory. */
export class PoolMeter {
  private readonly waits = newHistogram();
  private current: Period;
  private previous: Period;
  private count = { asked: 0, unavailable: 0, abandoned: 0 };
  private working = 0;
  private busyMs = 0;
  /** The instant up to which `busyMs` counts. */
  private countedUntil: number;

  constructor(private readonly workers: number) {
    const now = performance.now();
    this.countedUntil = now;
    this.current = { waits: newHistogram(), startedAt: now, busyMs: 0 };
    this.previous = { waits: newHistogram(), startedAt: now, busyMs: 0 };
  }

  asked(): void {
    this.count.asked++;
  }

  rejected(): void {
    this.count.unavailable++;
  }

  abandoned(): void {
    this.count.abandoned++;
  }

  began(waitedMs: number): void {
    this.turn();
    const microseconds = Math.max(0, Math.round(waitedMs * MICROSECONDS));
    this.waits.recordValue(microseconds);
    this.current.waits.recordValue(microseconds);
  }

  /** Sets the number of busy workers from now on. */
  busy(workers: number): void {
    this.turn();
    this.working = workers;
  }

  read(): Pick<MatchingStatistics, 'recent' | 'total'> {
    const now = this.turn();
    const recent = newHistogram();
    recent.add(this.previous.waits);
    recent.add(this.current.waits);
    const { startedAt, busyMs } = this.previous;
    const available = this.workers * (now - startedAt);
    const utilisation = available > 0 ? Math.min(1, (this.busyMs - busyMs) / available) : 0;
    return {
      recent: { utilisation, waitMs: summary(recent) },
      total: { ...this.count, busyMs: this.busyMs, waitMs: summary(this.waits) },
    };
  }

  /** Brings all figures up to now. Events call it, so that an idle pool needs no timer. @returns now */
  private turn(): number {
    const now = performance.now();
    const age = now - this.current.startedAt;
    if (age >= 2 * PERIOD_MS) {
      this.begin(now - PERIOD_MS);
      this.begin(now);
    } else if (age >= PERIOD_MS) {
      this.begin(this.current.startedAt + PERIOD_MS);
    }
    this.countUntil(now);
    return now;
  }

  private begin(startedAt: number): void {
    this.countUntil(startedAt);
    const { waits } = this.previous;
    waits.reset();
    this.previous = this.current;
    this.current = { waits, startedAt, busyMs: this.busyMs };
  }

  private countUntil(instant: number): void {
    this.busyMs += this.working * (instant - this.countedUntil);
    this.countedUntil = instant;
  }
}

/** Microseconds with an error of one percent, up to a quarter of an hour without growth. */
function newHistogram(): Histogram {
  return build({ highestTrackableValue: 1_000_000_000, numberOfSignificantValueDigits: 2 });
}

function summary(waits: Histogram): Waits {
  if (waits.totalCount === 0) return { mean: 0, p99: 0, max: 0 };
  return {
    mean: waits.mean / MICROSECONDS,
    p99: waits.getValueAtPercentile(99) / MICROSECONDS,
    max: waits.maxValue / MICROSECONDS,
  };
}
