import type { Decision } from '../../libs/floodgate/src/policy/decision.js';
import type { Ask, Operate } from './story.js';

/** How a call ended: with a value, or an error. Undefined: not yet. */
export interface Ended<T> {
  readonly at: number;
  readonly value?: T;
  readonly error?: Error;
}

/** A request. Instants are real ones: microseconds since the simulation began. */
export interface Asked {
  readonly ask: Ask;
  /** The pod, and which of its processes. */
  readonly process: Process;
  readonly askedAt: number;
  decided?: Ended<Decision>;
  /** When the client said that its work had ended, and at which cost. */
  ending?: { readonly at: number; readonly finalCost: number };
  /** What became of that; of a lease undefined. */
  ended?: Ended<{ readonly settledBy: string; readonly expired?: true }>;
}

/** A change of an override. */
export interface Operated {
  readonly operate: Operate;
  readonly process: Process;
  readonly askedAt: number;
  ended?: Ended<unknown>;
}

export interface Process {
  readonly pod: number;
  readonly bornAt: number;
  /** When its limiter began to close, or it was killed. */
  diedAt?: number;
}

/** A time in which something was wrong; `pod` undefined: with Redis, so for all. */
export interface Span {
  readonly what: string;
  readonly from: number;
  readonly to: number;
  readonly pod?: number | undefined;
}

/** The level of a policy for a client, after all has been quiet. */
export interface Level {
  readonly policy: string;
  readonly who: number;
  /** By Redis's clock: microseconds since 1970. */
  readonly at: number;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfter: number;
}

/** All that happened in a run. */
export interface History {
  readonly asked: readonly Asked[];
  readonly operated: readonly Operated[];
  readonly spans: readonly Span[];
  /** How far Redis's clock is ahead of real time, and from when on. */
  readonly clocks: readonly { readonly from: number; readonly ahead: number }[];
  readonly levels: readonly Level[];
  /** When the levels were read. */
  readonly quietAt: number;
}
