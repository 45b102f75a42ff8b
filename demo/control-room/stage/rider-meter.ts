import type { Answer, Route } from '../../riders/index.js';
import { type AnswerKind, rankOf, type Rates, RecentAnswers, rounded } from './recent-answers.js';
import type { PhaseFigures, Rides, RunPhase } from './surge-tick.js';

/** Rates and p99 of one moment. */
export interface RiderFigures extends Rates {
  readonly p99Ms: number | null;
}

/** What the figures of a phase consist of, by the instant of sending. */
interface PhaseAnswers {
  sent: number;
  readonly rides: { -readonly [Name in keyof Rides]: Rides[Name] };
  readonly served: number[];
  readonly refused: number[];
  readonly failed: number[];
  /** Of `failed`, those of a full queue. */
  readonly full: number[];
  longestFailureMs: number | null;
}

/** Counts and times what riders get in one world. Instants are milliseconds since the run began. */
export class RiderMeter {
  private readonly recent = new RecentAnswers();
  private readonly phases = new Map<RunPhase, PhaseAnswers>();
  /** Requests, retries included. */
  total = 0;

  /** @returns the function to call with the answer */
  sent(phase: RunPhase, sentAtMs: number, route: Route): (answer: Answer, answeredAtMs: number) => void {
    const answers = this.phases.get(phase) ?? noAnswers();
    this.phases.set(phase, answers);
    answers.sent++;
    this.total++;
    if (route === 'rides') answers.rides.sent++;
    return (answer, answeredAtMs) => {
      const kind = kindOf(answer.status);
      const isRide = kind === 'served' && answer.driverId !== undefined;
      const tookMs = answeredAtMs - sentAtMs;
      answers[kind].push(tookMs);
      // Without a driver there is no ride.
      if (route === 'rides') answers.rides[kind === 'served' && !isRide ? 'failed' : kind]++;
      if (answer.status === FULL) answers.full.push(tookMs);
      else if (kind === 'failed') answers.longestFailureMs = Math.max(tookMs, answers.longestFailureMs ?? 0);
      this.recent.note(answeredAtMs, kind, tookMs, isRide);
    };
  }

  now(atMs: number): RiderFigures {
    return { ...this.recent.rates(atMs), p99Ms: this.recent.p99Ms(atMs) };
  }

  ridesOf(phase: RunPhase): Rides {
    return { ...(this.phases.get(phase) ?? noAnswers()).rides };
  }

  /** Whether all requests that were sent in a phase are answered. */
  isSettled(phase: RunPhase): boolean {
    const answers = this.phases.get(phase);
    if (answers === undefined) return true;
    return answers.sent === answers.served.length + answers.refused.length + answers.failed.length;
  }

  figuresOf(phase: RunPhase, seconds: number, recoveredAfterS: number | null): PhaseFigures {
    const answers = this.phases.get(phase) ?? noAnswers();
    const { sent, rides, served, refused, failed, full, longestFailureMs } = answers;
    const times = Float64Array.from([...served, ...failed]).toSorted();
    return {
      seconds,
      sent,
      served: served.length,
      refused: refused.length,
      failed: failed.length,
      full: full.length,
      medianMs: timeAt(times, 0.5),
      p99Ms: timeAt(times, 0.99),
      refusedP99Ms: timeAt(Float64Array.from(refused).toSorted(), 0.99),
      fullP99Ms: timeAt(Float64Array.from(full).toSorted(), 0.99),
      longestFailureMs: longestFailureMs && rounded(longestFailureMs, 1),
      rides: { ...rides },
      recoveredAfterS,
    };
  }
}

/** The status with which a full queue of matching turns a request away. */
const FULL = 503;

function noAnswers(): PhaseAnswers {
  return { sent: 0, rides: { ...NO_RIDES }, served: [], refused: [], failed: [], full: [], longestFailureMs: null };
}

export const NO_RIDES: Rides = { sent: 0, served: 0, refused: 0, failed: 0 };

function timeAt(sorted: Float64Array, share: number): number | null {
  const ms = rankOf(sorted, share);
  return ms && rounded(ms, 1);
}

/** @param status 0: the rider left without an answer */
export function kindOf(status: number): AnswerKind {
  if (status === 429) return 'refused';
  return status >= 200 && status < 300 ? 'served' : 'failed';
}
