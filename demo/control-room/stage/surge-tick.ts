/** What the page receives of the surge. The file has types only, so that TypeScript can check the page's modules against them. */

/** `left` begins without limits, `right` has them. Each is a process of the application with a matching service of its own. */
export type WorldId = 'left' | 'right';

/** Facts that do not change while the process runs. */
export interface SurgeDescription {
  /** Of a whole run. */
  readonly seconds: number;
  /** Cores of this machine. */
  readonly cores: number;
  /** The worlds are the shipped city divided by this: 1 on eight cores and more. */
  readonly scale: number;
  readonly riders: number;
  /** Requests per second that all riders send to each world if every request is served at once. */
  readonly demand: number;
  /** Requests per second that each world's matching can serve. */
  readonly capacity: number;
  /** Requests per second that the limit before matching lets through. */
  readonly limit: number;
  /** Requests that this limit lets through at once. */
  readonly burst: number;
  /** How long a rider waits for an answer, in milliseconds. */
  readonly patienceMs: number;
  /** About how many requests for rides are drawn of a run in each world. */
  readonly dots: number;
}

/**
 * `idle`: no world runs yet, or none any more. `starting`: the processes of the worlds start. `ready`: both wait for a surge.
 * `surge`, `recovery`: the phases of a run, in this order. `ending`: riders send nothing more, and some still wait.
 * `unavailable`: a world could not start or has ended; `problem` says why.
 */
export type SurgePhase = 'idle' | 'starting' | 'ready' | 'surge' | 'recovery' | 'ending' | 'unavailable';

/** The phases of a run that have a verdict. In `recovery` the left world enforces its limits, too. */
export type RunPhase = 'surge' | 'recovery';

export interface SurgeTick {
  readonly phase: SurgePhase;
  /** Why the phase is `unavailable`. */
  readonly problem: string | null;
  /** Milliseconds since the run began, by the server's clock; of the last run after its end. All instants of this tick are of this clock. */
  readonly atMs: number;
  /** Until the run ends; 0 outside a run. */
  readonly secondsLeft: number;
  /** Null without worlds and without a last run. */
  readonly worlds: Readonly<Record<WorldId, WorldTick>> | null;
  /** Null while the machine carries the run. Otherwise the figures cannot be trusted. */
  readonly busy: Busyness | null;
  /** The verdicts of the phases that have ended: of this run, or of the last one. */
  readonly verdicts: readonly Verdict[];
  /** When a viewer stopped the run, in seconds since its begin; null: nobody did. */
  readonly stoppedAfterS: number | null;
}

/** Why the machine is too busy for a run, in figures. */
export interface Busyness {
  /** Cores that all processes but those of this run use. */
  readonly othersCpu: number;
  /** Cores that nothing uses. */
  readonly idleCpu: number;
  /** How late the riders' requests are sent, in milliseconds: p99 of the last seconds. */
  readonly lateP99Ms: number;
}

/** What riders got in one moment. Rates are averages of the last second, by the second of the answer. */
export interface Sample {
  /** Milliseconds since the run began. */
  readonly atMs: number;
  readonly phase: RunPhase;
  /** Answers per second with what the rider asked for. A request that fails after the limiter let it pass is not served. */
  readonly served: number;
  /** 429s per second. */
  readonly refused: number;
  /** All other answers per second, and riders per second who left without one. */
  readonly failed: number;
  /** Milliseconds to the answers of the last two seconds that were no 429; null without one. */
  readonly p99Ms: number | null;
  /** Rides with a driver per second. */
  readonly rides: number;
  /** Requests since the run began, retries included. */
  readonly sent: number;
  /** Requests in matching's queue. */
  readonly waiting: number;
  readonly enforced: boolean;
  /** What decides about requests in this moment. `fallback`: Redis is unavailable. */
  readonly decider: Decider;
  /** Whether the Redis of the worlds has ended. A fallback alone may mean that it was slow. */
  readonly redisAway: boolean;
}

/** Requests for rides, retries included. Those that have no answer yet are sent, and nothing else. */
export interface Rides {
  readonly sent: number;
  /** With a driver. */
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
}

/** What decides about requests. `none`: limits are not enforced. */
export type Decider = 'redis' | 'process' | 'fallback' | 'none';

export interface WorldTick {
  readonly sample: Sample;
  /** The rides of the phase `surge`, until now. */
  readonly rush: Rides;
  /** Requests for rides of this tick to draw. */
  readonly drawn: DrawnRequests;
}

/** What a request was for its rider. */
export type Outcome = 'served' | 'refused' | 'failed';

/** An answered request: the milliseconds of the run when it was sent, those until its answer, and what it was. */
export type Dot = readonly [atMs: number, tookMs: number, outcome: Outcome];

export interface DrawnRequests {
  /** Sent since the last tick: ID and instant. Each has its answer in a later tick, or in this one. */
  readonly sent: readonly (readonly [id: number, atMs: number])[];
  readonly answered: readonly { readonly id: number; readonly dot: Dot }[];
}

export interface Verdict {
  readonly phase: RunPhase;
  readonly worlds: Readonly<Record<WorldId, PhaseFigures>>;
  /** Not null: the machine was too busy in this phase. */
  readonly busy: Busyness | null;
}

/** What riders got in a phase, by the instant of sending. */
export interface PhaseFigures {
  /** How long the phase was: shorter than planned when a viewer stopped the run. */
  readonly seconds: number;
  readonly sent: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  /** Of the failed ones, those with a 503: matching's queue was full. */
  readonly full: number;
  /** Milliseconds of requests that were not refused; null without one. */
  readonly medianMs: number | null;
  readonly p99Ms: number | null;
  /** Milliseconds of 429s; null without one. */
  readonly refusedP99Ms: number | null;
  /** Milliseconds of the 503s of a full queue; null without one. */
  readonly fullP99Ms: number | null;
  /** The longest time until any other failure, in milliseconds; null without one. */
  readonly longestFailureMs: number | null;
  readonly rides: Rides;
  /** In `recovery`, of the left world: seconds until p99 stayed below 500 ms; null: it did not. */
  readonly recoveredAfterS: number | null;
}
