import type { ExplainedOverride, PolicyExplanation } from 'nestjs-floodgate';
import type { DrawnNumbers, PolicyParameters, PolicyState } from './policy-state.js';
import type { PodsDescription, PodsTick } from './pods/pods-tick.js';
import type { Sample, SurgeDescription, SurgeTick, WorldId } from './stage/surge-tick.js';

/** The events that the page receives. The file has types only, so that TypeScript can check the page's modules against them. */
export interface LiveEvents {
  /** The first event of every connection. */
  readonly room: Room;
  readonly tick: Tick;
}

/** Facts that do not change while the process runs. */
export interface Room {
  /** `watch`: the process rejects surge, switch and requests. */
  readonly mode: 'on' | 'watch';
  /** The riders whose limits the page can show. */
  readonly riders: readonly string[];
  readonly lanes: readonly LaneDescription[];
  /** Null where this process starts no worlds: with `mode` `watch`. */
  readonly surge: SurgeDescription | null;
  /** Null where this process starts no pods: with `mode` `watch`. */
  readonly pods: PodsDescription | null;
  /** What the charts show before the first tick, oldest first, so that a reload does not begin with empty charts. */
  readonly history: {
    readonly process: readonly ProcessSample[];
    /** Of this run or the last one, from its begin. Null without one. */
    readonly worlds: Readonly<Record<WorldId, readonly Sample[]>> | null;
  };
}

/** What clients of this process got in one moment. Rates are averages of the last second. */
export interface ProcessSample {
  /** Milliseconds since 1970 by the clock of this process. */
  readonly at: number;
  /** Answers of limited routes per second with a status below 500 that is no 429. */
  readonly served: number;
  /** 429s per second. */
  readonly refused: number;
  /** Answers per second with a status from 500, and clients per second who left without one. */
  readonly failed: number;
  /** Milliseconds to the answers of the last two seconds that were no 429; null without one. */
  readonly p99Ms: number | null;
  readonly decider: Decider;
}

export interface LaneDescription {
  readonly id: string;
  readonly title: string;
  /** The title of its row. Lanes whose policies differ in numbers only share a row. */
  readonly row: string;
  readonly method: string;
  readonly path: string;
  /** The number of requests that the second button sends at once. */
  readonly more: number;
  readonly policies: readonly PolicyParameters[];
}

/** What decides about requests. `none`: limits are not enforced. */
export type Decider = 'redis' | 'process' | 'fallback' | 'none';

export interface Tick {
  /** Milliseconds since 1970 by the clock of the store. All instants below are of that clock. */
  readonly at: number;
  readonly enforced: boolean;
  readonly decider: Decider;
  /** By lane ID. */
  readonly lanes: Readonly<Record<string, LaneTick>>;
  /** Undefined while the matching service is unavailable. */
  readonly matching: MatchingTick | undefined;
  /** This process's own clients, not those of the worlds. */
  readonly process: ProcessSample;
  /** Null where `Room.surge` is. */
  readonly surge: SurgeTick | null;
  /** Null where `Room.pods` is. */
  readonly pods: PodsTick | null;
}

export interface LaneTick {
  /** Requests to this process since its start, by their answers: a 429 is a rejection. */
  readonly passed: number;
  readonly rejected: number;
  /**
   * By rider, the lane's policies in their order, as a request of the rider finds them. Null for a rider: the limiter did not answer; null
   * for a policy: it is not asked.
   */
  readonly riders: Readonly<Record<string, readonly (PolicyTick | null)[] | null>>;
}

export interface PolicyTick {
  /** The numbers in force under plan and override; null: no picture can draw them. */
  readonly numbers: DrawnNumbers | null;
  /** Null where nothing is counted, because an override exempts or blocks the rider, or where `numbers` is null. */
  readonly state: PolicyState | null;
  /** Null where the policy has no plans. `isKnown` is false as long as neither the limiter nor the rider's account says. */
  readonly plan: PolicyExplanation['plan'];
  /** Without reason and author: whoever reaches the page may not know them. */
  readonly override: Pick<ExplainedOverride, 'change' | 'expiresAt'> | null;
}

export interface MatchingTick {
  /** The busy share of the workers' time in the last seconds, 0 to 1. */
  readonly utilisation: number;
  /** Milliseconds that requests of the last seconds waited for a worker. */
  readonly p99WaitMs: number;
  readonly waiting: number;
  readonly workers: number;
}

/** The outcome of the requests that a button sent. */
export interface TrialResult {
  /** The number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** One of the answers: a 429 if there was one. */
  readonly answer: {
    readonly status: number;
    /** Headers about limits. */
    readonly headers: Readonly<Record<string, string>>;
    /** The first characters of the body. */
    readonly text: string;
    /** The policy that refused; null for another answer than a limiter's 429. */
    readonly policy: string | null;
    /** Milliseconds until a retry can pass; null without a refusal, and where no retry can. */
    readonly retryAfterMs: number | null;
    /** Milliseconds from the answer to the instant in `X-RateLimit-Reset`, which has whole seconds; null without the header. */
    readonly resetAfterMs: number | null;
  };
  /** The number of refusals by policy. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Milliseconds until all answers were there. */
  readonly tookMs: number;
}
