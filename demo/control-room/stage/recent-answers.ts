/** What an answer was for its client. */
export type AnswerKind = 'served' | 'refused' | 'failed';

export interface Rates {
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  /** Rides with a driver. */
  readonly rides: number;
}

interface Answered {
  readonly atMs: number;
  readonly kind: AnswerKind;
  readonly tookMs: number;
  readonly isRide: boolean;
}

const RATE_MS = 1000;
const P99_MS = 2000;
/** Answers that have left the window are dropped when there are so many of them, so that dropping costs little. */
const DROP_AT = 1000;

/** The answers of the last two seconds. Instants are milliseconds of any clock, and do not decrease. */
export class RecentAnswers {
  private answers: Answered[] = [];
  /** The first answer that may be in the window. */
  private first = 0;

  note(atMs: number, kind: AnswerKind, tookMs: number, isRide = false): void {
    this.answers.push({ atMs, kind, tookMs, isRide });
    this.forget(atMs);
  }

  /** Answers per second, by those of the last second: later than `nowMs - 1000`, up to `nowMs`. */
  rates(nowMs: number): Rates {
    this.forget(nowMs);
    const rates = { served: 0, refused: 0, failed: 0, rides: 0 };
    for (let i = this.answers.length - 1; i >= this.first; i--) {
      const { atMs, kind, isRide } = this.answers[i]!;
      if (atMs <= nowMs - RATE_MS) break;
      rates[kind]++;
      if (isRide) rates.rides++;
    }
    return rates;
  }

  /** Milliseconds to the answers of the last two seconds that were not refused; null without one. */
  p99Ms(nowMs: number): number | null {
    this.forget(nowMs);
    const times = this.answers.slice(this.first).flatMap(({ kind, tookMs }) => (kind === 'refused' ? [] : [tookMs]));
    return rankOf(Float64Array.from(times).toSorted(), 0.99);
  }

  private forget(nowMs: number): void {
    while (this.first < this.answers.length && this.answers[this.first]!.atMs <= nowMs - P99_MS) this.first++;
    if (this.first < DROP_AT) return;
    this.answers = this.answers.slice(this.first);
    this.first = 0;
  }
}

/** A measured time, not an interpolated one: the nearest-rank method. Null without times. */
export function rankOf(sorted: Float64Array, share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** What travels to the page has few digits. */
export function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
