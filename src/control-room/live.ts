import type { LaneState, PolicyParameters } from './policy-state.js';

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
  /** The rider who sends the page's requests. */
  readonly rider: string;
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
  /** The state of each policy for the page's rider, or for all clients; undefined if the limiter did not answer. */
  readonly state: LaneState | undefined;
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
