import { Logger } from '@nestjs/common';
import type { Decision } from '../decision.js';
import { isPromise } from '../is-promise.js';
import type { BoundPolicy } from '../policy/route-policies.js';
import { RationedWarning, reasonOf } from '../rationed-warning.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { type DecisionEvent, type DecisionSource, type Place, routeName } from './decision-event.js';

/** Who asks: a handler, nobody in particular (undefined), or one who only looks, whose answers are no decisions. */
export type Asker = Place | 'peek' | undefined;

/** Sees every decision. Nobody watching, it reads no clock. */
export class Monitor {
  private readonly failed = new RationedWarning(new Logger('RateLimit'));
  private readonly onDecision: RateLimitModuleOptions['onDecision'];
  private readonly sampling: number;

  constructor(options: Pick<RateLimitModuleOptions, 'onDecision' | 'decisionSampling'>) {
    this.onDecision = options.onDecision;
    this.sampling = options.decisionSampling ?? 1;
  }

  /** The instant at which a decision begins, for `decided`. */
  begin(): number {
    return this.onDecision === undefined ? 0 : performance.now();
  }

  /** @param since what `begin` returned */
  decided(
    _policies: readonly BoundPolicy[],
    decision: Decision,
    source: DecisionSource,
    asker: Asker,
    since: number,
  ): Decision {
    if (asker !== 'peek' && this.onDecision !== undefined) this.report(decision, source, asker, since);
    return decision;
  }

  /** A request got a 503 in place of a decision. */
  closed(_policies: readonly BoundPolicy[], retryAfterMs: number, asker: Asker, since: number): void {
    if (asker === 'peek' || this.onDecision === undefined) return;
    const decision = { allowed: false, policies: [], retryAfterMs, delayMs: 0, decidedAtMs: Date.now() };
    this.report(decision, 'closed', asker, since);
  }

  /** Nothing that a hook does reaches the request, nor a rejection the process. */
  private report(
    decision: DecisionEvent['decision'],
    source: DecisionSource,
    place: Place | undefined,
    since: number,
  ): void {
    // At random: every n-th one would see the same client or policy each time where these take turns.
    if (this.sampling < 1 && Math.random() >= this.sampling) return;
    const durationMs = performance.now() - since;
    const event: DecisionEvent = { decision, source, route: place && routeName(place), durationMs };
    try {
      const returned: unknown = this.onDecision!(event);
      if (isPromise(returned)) returned.then(undefined, (error: unknown) => this.hookFailed(error));
    } catch (error) {
      this.hookFailed(error);
    }
  }

  private hookFailed(error: unknown): void {
    this.failed.warn(`onDecision failed: ${reasonOf(error)}`);
  }
}
