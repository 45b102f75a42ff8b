import type { LaneState, PolicyParameters } from './policy-state.js';

/** What the page is told: events of one stream. Types only, so that the page's own modules can be checked against them. */
export interface LiveEvents {
  /** The first one, and again after every reconnection. */
  readonly room: Room;
  readonly tick: Tick;
}

/** What does not change while the process runs. */
export interface Room {
  /** Whether the surge and the switch can be used; `watch`: they are rejected. */
  readonly mode: 'on' | 'watch';
  /** False in a process that was started without a limiter: there is nothing to switch. */
  readonly switchable: boolean;
  /** Whom the page's own requests come from. */
  readonly rider: string;
  readonly lanes: readonly LaneDescription[];
  readonly concert: { readonly riders: number; readonly demand: number; readonly seconds: number };
}

export interface LaneDescription {
  readonly id: string;
  readonly title: string;
  readonly method: string;
  readonly path: string;
  /** How many requests its second button sends at once. */
  readonly more: number;
  readonly policies: readonly PolicyParameters[];
}

/** What decides about requests: nothing where limits are not enforced. */
export type Decider = 'redis' | 'process' | 'fallback' | 'nobody';

export interface Tick {
  /** Milliseconds since 1970 by the clock that decides; all instants below are of that clock. */
  readonly at: number;
  readonly enforced: boolean;
  readonly decider: Decider;
  /** By lane. */
  readonly lanes: Readonly<Record<string, LaneTick>>;
  /** Undefined while the matching service is away. */
  readonly matching: MatchingTick | undefined;
  readonly concert: ConcertTick;
}

export interface LaneTick {
  /** Requests of this process since its start. */
  readonly passed: number;
  readonly rejected: number;
  /** What each policy holds for the page's rider, or for everybody; undefined where it could not be asked. */
  readonly state: LaneState | undefined;
}

export interface MatchingTick {
  /** Of the last seconds: 0 to 1; milliseconds that requests waited for a worker. */
  readonly utilisation: number;
  readonly p99WaitMs: number;
  readonly waiting: number;
  readonly workers: number;
}

export interface ConcertTick {
  /** `ending`: nobody sends any more, some still wait for their answers. */
  readonly phase: 'quiet' | 'running' | 'ending';
  readonly secondsLeft: number;
  /** Riders with the app open, and answers, of the last surge. */
  readonly inApp: number;
  readonly waiting: number;
  readonly allowed: number;
  readonly rejected: number;
  readonly failed: number;
}

/** What came of the requests that a button sent. */
export interface TrialResult {
  /** How many there were of each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** One of the answers, a refusal if there was one. */
  readonly answer: {
    readonly status: number;
    /** Those about limits. */
    readonly headers: Readonly<Record<string, string>>;
    /** The beginning of the body. */
    readonly text: string;
  };
  /** Milliseconds for all of them. */
  readonly tookMs: number;
}
