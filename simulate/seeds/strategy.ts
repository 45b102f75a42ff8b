import type { RateLimiter } from '../../libs/floodgate/src/limiter/rate-limiter.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { History } from './history.js';
import type { Ask, Trouble } from './story.js';
import type { Work } from './work.js';

/** A way to use a limiter, which is tried with random stories. */
export interface SeedStrategy {
  readonly name: string;
  readonly title: string;
  readonly policies: Readonly<Record<string, Policy>>;
  /** Whether an operator sets overrides of the policy `limited`. */
  readonly operates?: boolean;
  /** What its promises do not cover. */
  readonly excluded?: readonly Trouble['do'][];
  /** A request. */
  readonly ask: (limiter: RateLimiter, ask: Ask, work: Work) => Promise<void>;
  /** What a process does that reads the levels later, as soon as all is quiet. */
  readonly attend?: (limiter: RateLimiter) => Promise<unknown>;
  /** What was broken, in sentences: see oracle.ts. */
  readonly check: (history: History) => readonly string[];
}
