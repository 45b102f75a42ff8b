import type { Answer } from '../../riders/index.js';
import { type AnswerKind, rankOf, type Rates, RecentAnswers, rounded } from './recent-answers.js';
import type { PhaseFigures, RunPhase, WorldTick } from './surge-tick.js';

/** Rates and p99 of one moment. */
export interface RiderFigures extends Rates {
  readonly p99Ms: number | null;
}

/** What the figures of a phase consist of, by the instant of sending. */
interface PhaseAnswers {
  sent: number;
  rides: number;
  readonly served: number[];
  readonly refused: number[];
  readonly failed: number[];
}

/** Counts and times what riders get in one world. Instants are milliseconds since the run began. */
export class RiderMeter {
  private readonly recent = new RecentAnswers();
  private readonly phases = new Map<RunPhase, PhaseAnswers>();
  private readonly count = { sent: 0, served: 0, refused: 0, failed: 0 };

  get total(): WorldTick['total'] {
    return { ...this.count };
  }

  /** @returns the function to call with the answer */
  sent(phase: RunPhase, sentAtMs: number): (answer: Answer, answeredAtMs: number) => void {
    const answers = this.phases.get(phase) ?? { sent: 0, rides: 0, served: [], refused: [], failed: [] };
    this.phases.set(phase, answers);
    answers.sent++;
    this.count.sent++;
    return (answer, answeredAtMs) => {
      const kind = kindOf(answer.status);
      const isRide = kind === 'served' && answer.driverId !== undefined;
      const tookMs = answeredAtMs - sentAtMs;
      answers[kind].push(tookMs);
      if (isRide) answers.rides++;
      this.count[kind]++;
      this.recent.note(answeredAtMs, kind, tookMs, isRide);
    };
  }

  now(atMs: number): RiderFigures {
    return { ...this.recent.rates(atMs), p99Ms: this.recent.p99Ms(atMs) };
  }

  /** Whether all requests that were sent in a phase are answered. */
  isSettled(phase: RunPhase): boolean {
    const answers = this.phases.get(phase);
    if (answers === undefined) return true;
    return answers.sent === answers.served.length + answers.refused.length + answers.failed.length;
  }

  figuresOf(phase: RunPhase, seconds: number, recoveredAfterS: number | null): PhaseFigures {
    const { sent, rides, served, refused, failed } = this.phases.get(phase) ?? NOTHING;
    const times = Float64Array.from([...served, ...failed]).toSorted();
    return {
      seconds,
      sent,
      served: served.length,
      refused: refused.length,
      failed: failed.length,
      medianMs: timeAt(times, 0.5),
      p99Ms: timeAt(times, 0.99),
      refusedMedianMs: timeAt(Float64Array.from(refused).toSorted(), 0.5),
      rides,
      recoveredAfterS,
    };
  }
}

const NOTHING: PhaseAnswers = { sent: 0, rides: 0, served: [], refused: [], failed: [] };

function timeAt(sorted: Float64Array, share: number): number | null {
  const ms = rankOf(sorted, share);
  return ms && rounded(ms, 1);
}

/** @param status 0: the rider left without an answer */
export function kindOf(status: number): AnswerKind {
  if (status === 429) return 'refused';
  return status >= 200 && status < 300 ? 'served' : 'failed';
}
