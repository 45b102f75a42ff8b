import type { DecisionEvent } from 'floodgate';
import { type ApplicationLike, runtimeOf } from './runtime-of.js';

/** The decisions of an application since `recordDecisions`, or since `clear`, the oldest first. */
export interface RecordedDecisions {
  readonly all: readonly DecisionEvent[];
  /** The latest decision; undefined when there is none. */
  readonly last: DecisionEvent | undefined;
  /**
   * The decisions of one route.
   *
   * @param route class and method of the handler, such as `'RidesController.request'`
   */
  of(route: string): readonly DecisionEvent[];
  /** Forgets the decisions so far. */
  clear(): void;
  /** Ends the recording. What was recorded stays. */
  stop(): void;
}

/**
 * Records what the limiter decides: one event for each decision of the guard, of `middleware` and of `RateLimiter.consume`. A
 * request that the middleware and the guard limit has two. A peek is no decision.
 *
 * @throws {RateLimitConfigError} when the application has no `RateLimitModule`
 * @example
 * ```ts
 * const decisions = recordDecisions(app);
 * await request(app.getHttpServer()).get('/rides');
 * expect(decisions.last?.decision.policies[0]?.remaining).toBe(19);
 * ```
 */
export function recordDecisions(app: ApplicationLike): RecordedDecisions {
  const all: DecisionEvent[] = [];
  const stop = runtimeOf('recordDecisions', app).parts.monitor.observe((event) => void all.push(event));
  return {
    all,
    get last() {
      return all.at(-1);
    },
    of: (route) => all.filter((event) => event.route === route),
    clear: () => void all.splice(0),
    stop,
  };
}
