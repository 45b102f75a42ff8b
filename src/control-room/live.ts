import type { ExplainedOverride, PolicyExplanation } from 'nestjs-floodgate';
import type { DrawnNumbers, PolicyParameters, PolicyState } from './policy-state.js';

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
  /** False with `RATE_LIMIT=off`. */
  readonly switchable: boolean;
  /** The riders whose limits the page can show. */
  readonly riders: readonly string[];
  readonly lanes: readonly LaneDescription[];
  readonly concert: { readonly riders: number; readonly demand: number; readonly seconds: number };
}

export interface LaneDescription {
  readonly id: string;
  readonly title: string;
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
  readonly concert: ConcertTick;
}

export interface LaneTick {
  /** Requests to this process since its start. */
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

export interface ConcertTick {
  /** `ending`: riders send no further requests, but some still wait for their answers. */
  readonly phase: 'quiet' | 'running' | 'ending';
  readonly secondsLeft: number;
  /** Riders with the app open. */
  readonly inApp: number;
  readonly waiting: number;
  readonly allowed: number;
  readonly rejected: number;
  readonly failed: number;
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
  };
  /** Milliseconds until all answers were there. */
  readonly tookMs: number;
}
