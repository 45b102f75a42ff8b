import { Logger } from '@nestjs/common';
import type { Decision } from '../policy/decision.js';
import type { BoundPolicy } from '../nest/route-policies.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import type { RateLimitModuleOptions, StoreStateChange } from '../nest/options/module-options.js';
import { tell } from '../util/notify.js';
import { type DecisionEvent, type DecisionSource, type Place, routeName } from './decision-event.js';
import { Histogram } from './histogram.js';
import { PolicyTallies } from './policy-tallies.js';
import type { RateLimitStats } from './stats.js';

/** Who asks: a handler, nobody in particular (undefined), or one who only looks, whose answers are no decisions. */
export type Asker = Place | 'peek' | undefined;

/** Milliseconds. A store next door answers within one, so that is where they are closest. */
const LATENCY_BOUNDS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 25, 50, 100, 250, 500, 1000];
const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Sees every decision, counts it, and tells who wants to know. Nobody watching, it reads no clock. */
export class Monitor {
  readonly policies = new PolicyTallies();
  private readonly sources: Record<DecisionSource, number> = {
    store: 0,
    'denial-cache': 0,
    local: 0,
    open: 0,
    closed: 0,
  };
  private allowed = 0;
  private storeFailures = 0;
  private readonly latency = new Histogram(LATENCY_BOUNDS);
  private readonly batches = new Histogram(BATCH_BOUNDS);
  /** Of the whole store, under an empty name, and of a Cluster's nodes. */
  private readonly outages = new Map<string, { readonly reason: string; readonly since: number }>();
  private timing: boolean;
  private readonly onDecision: RateLimitModuleOptions['onDecision'];
  private readonly sampling: number;
  private readonly hookFailed = new RationedWarning(new Logger('RateLimit'));

  constructor(options: Pick<RateLimitModuleOptions, 'onDecision' | 'decisionSampling'>) {
    this.onDecision = options.onDecision;
    this.sampling = options.decisionSampling ?? 1;
    this.timing = this.onDecision !== undefined;
  }

  /** From now on it takes the time of every decision. */
  takeTimes(): void {
    this.timing = true;
  }

  /** The instant at which a decision begins, for the methods below; 0 where nobody needs it. */
  begin(): number {
    return this.timing ? performance.now() : 0;
  }

  /** @param since what `begin` returned */
  decided(
    policies: readonly BoundPolicy[],
    decision: Decision,
    source: DecisionSource,
    asker: Asker,
    since: number,
  ): Decision {
    if (asker !== 'peek') this.count(policies, decision, source, asker, since);
    return decision;
  }

  /** A request got a 503 in place of a decision. */
  closed(policies: readonly BoundPolicy[], retryAfterMs: number, asker: Asker, since: number): void {
    if (asker === 'peek') return;
    const decision = { allowed: false, policies: [], retryAfterMs, delayMs: 0, decidedAtMs: Date.now() };
    this.count(policies, decision, 'closed', asker, since);
  }

  /** The store was asked and gave no answer, or not in time. */
  storeFailed(asker: Asker, since: number): void {
    this.storeFailures++;
    if (since !== 0 && asker !== 'peek') this.latency.observe(performance.now() - since);
  }

  /** A probe of the library's own was not answered. */
  probeFailed(): void {
    this.storeFailures++;
  }

  /** So many requests went to Redis in one call. */
  batch(size: number): void {
    this.batches.observe(size);
  }

  storeChanged({ available, reason, node = '' }: StoreStateChange): void {
    if (available) this.outages.delete(node);
    else this.outages.set(node, { reason, since: performance.now() });
  }

  stats(): Omit<RateLimitStats, 'waiting' | 'memoryOverflows'> {
    const { allowed, storeFailures } = this;
    const [outage] = this.outages.values(); // the one that lasts longest
    const sources = { ...this.sources };
    const requests = Object.values(sources).reduce((sum, count) => sum + count, 0);
    return {
      requests,
      allowed,
      rejected: requests - allowed - sources.closed,
      unavailable: sources.closed,
      sources,
      policies: this.policies.snapshot(),
      latencyMs: this.timing ? this.latency.snapshot() : undefined,
      batchSizes: this.batches.snapshot(),
      storeFailures,
      store: {
        available: outage === undefined,
        reason: outage?.reason,
        outageMs: outage === undefined ? 0 : performance.now() - outage.since,
      },
    };
  }

  private count(
    policies: readonly BoundPolicy[],
    decision: DecisionEvent['decision'],
    source: DecisionSource,
    place: Place | undefined,
    since: number,
  ): void {
    this.sources[source]++;
    if (decision.allowed) this.allowed++;
    this.policies.count(policies, decision);
    if (since !== 0) this.watched(decision, source, place, since);
  }

  private watched(
    decision: DecisionEvent['decision'],
    source: DecisionSource,
    place: Place | undefined,
    since: number,
  ): void {
    const durationMs = performance.now() - since;
    if (source === 'store') this.latency.observe(durationMs);
    // At random: every n-th one would be the same client's or policy's each time where these take turns.
    if (this.onDecision === undefined || (this.sampling < 1 && Math.random() >= this.sampling)) return;
    const event: DecisionEvent = { decision, source, route: place && routeName(place), durationMs };
    tell(this.onDecision, event, (error) => this.hookFailed.warn(`onDecision failed: ${reasonOf(error)}`));
  }
}
