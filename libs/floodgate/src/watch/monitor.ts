import { type IdentityNaming, namedIdentity } from '../identity/identity-tag.js';
import type { Decision } from '../policy/decision.js';
import type { StoreStateChange } from '../stores/store-state.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { notify } from '../util/notify.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { reasonOf } from '../util/thrown.js';
import type { DecisionSource } from '../charges/layer-verdict.js';
import { type DecisionEvent, type HandlerContext, routeName } from './decision-event.js';
import { Measured } from './measured.js';
import { type CountedCharge, type CountedPolicy, MAX_TALLIES, OTHER, PolicyTallies } from './policy-tallies.js';
import { RejectedIdentities } from './rejected/rejected-identities.js';
import type { OverriddenCharges, QueueTimeStats, RateLimitStats } from './stats.js';

/** The module's options of the same names. */
export interface MonitorSettings {
  readonly onDecision?: ((event: DecisionEvent) => void) | undefined;
  readonly decisionIdentity?: IdentityNaming | undefined;
}

/** What an engine counts of its decisions. */
export type DecisionMonitor = Pick<
  Monitor,
  'begin' | 'decided' | 'decidedOne' | 'decidedByOverrides' | 'overridden' | 'closed' | 'storeFailed' | 'ranOver'
>;

/** Counts every decision and notifies `onDecision`. Reads the clock only when the latency is needed. */
export class Monitor {
  readonly policies = new PolicyTallies((charge) => this.rejected(charge));
  /** The identities that were rejected most often. */
  readonly rejectedIdentities: RejectedIdentities;
  readonly measured = new Measured();
  private readonly sources: Record<DecisionSource, number> = {
    store: 0,
    prefetch: 0,
    'denial-cache': 0,
    local: 0,
    open: 0,
    closed: 0,
    override: 0,
  };
  private readonly overrides = { changed: 0, exempt: 0, blocked: 0 };
  private allowed = 0;
  private storeFailures = 0;
  private readonly functionFailures = {
    policy: 0,
    identity: 0,
    cost: 0,
    timeZone: 0,
    priority: 0,
    skipIf: 0,
    countIf: 0,
    settle: 0,
    problem: 0,
    plan: 0,
    list: 0,
    shed: 0,
  };
  private readonly plans = { cache: 0, resolver: 0, lastKnown: 0, fallback: 0 };
  private readonly addresses = { allowed: 0, blocked: 0 };
  private readonly missingIdentities = new Map<string, number>();
  private readonly runOver = new Map<string, { readonly policy: string; readonly to: string; requests: number }>();
  /** Outages by node of a Cluster; the whole store has an empty name. */
  private readonly outages = new Map<string, { readonly reason: string; readonly since: number }>();
  private timing: boolean;
  private readonly onDecision: MonitorSettings['onDecision'];
  private readonly naming: IdentityNaming | undefined;
  private readonly observers = new Set<(event: DecisionEvent) => void>();
  private readonly hookFailed: RationedWarning;

  constructor({ onDecision, decisionIdentity }: MonitorSettings, logger: Pick<Logger, 'warn'>) {
    this.naming = decisionIdentity;
    this.rejectedIdentities = new RejectedIdentities(decisionIdentity);
    this.onDecision = onDecision;
    this.hookFailed = new RationedWarning(logger);
    this.timing = this.onDecision !== undefined;
  }

  /** Starts to measure the time of every decision. */
  takeTimes(): void {
    this.timing = true;
  }

  /** Notifies `observer` of every decision as well. Returns a function that removes it. */
  observe(observer: (event: DecisionEvent) => void): () => void {
    this.takeTimes();
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  }

  /** The instant at which a decision begins, for the methods below; 0 if times are not measured. */
  begin(): number {
    return this.timing ? performance.now() : 0;
  }

  /**
   * Counts a decision, unless it is a peek.
   *
   * @param since what `begin` returned
   */
  decided(
    charges: readonly CountedCharge[],
    decision: Decision,
    source: DecisionSource,
    handler: HandlerContext | undefined,
    since: number,
  ): Decision {
    if (charges[0]!.mode !== 'peek') this.count(charges, decision, source, handler, since);
    return decision;
  }

  /**
   * Counts a decision of the store on one charge without a shadow and without a handler.
   *
   * @param policy the charge's policy, which is in the CPU's cache more often than the charge
   */
  decidedOne(charges: readonly CountedCharge[], policy: CountedPolicy, decision: Decision, since: number): Decision {
    const { allowed } = decision;
    this.sources.store++;
    if (allowed) this.allowed++;
    this.policies.countOne(policy, charges, allowed);
    if (since !== 0) this.watched(charges, decision, 'store', undefined, since);
    return decision;
  }

  /** Counts charges that overrides have changed, left out or rejected. */
  overridden(changed: number, exempt: number, blocked: number): void {
    this.overrides.changed += changed;
    this.overrides.exempt += exempt;
    this.overrides.blocked += blocked;
  }

  /**
   * Counts a decision that overrides made without the store.
   *
   * @param all the charges of the request
   * @param rejecting the charges that they rejected; none: the request passed
   */
  decidedByOverrides(
    all: readonly CountedCharge[],
    rejecting: readonly CountedCharge[],
    decision: Decision,
    handler: HandlerContext | undefined,
    since: number,
  ): Decision {
    if (all[0]!.mode !== 'peek') this.count(rejecting, decision, 'override', handler, since, all);
    return decision;
  }

  /** Counts a request that got an error in place of a decision. */
  closed(
    charges: readonly CountedCharge[],
    retryAfterMs: number,
    handler: HandlerContext | undefined,
    since: number,
  ): void {
    if (charges[0]!.mode === 'peek') return;
    const decision = { allowed: false, policies: [], retryAfterMs, delayMs: 0, decidedAtMs: Date.now() };
    this.count(charges, decision, 'closed', handler, since);
  }

  /** Counts a request that the store did not answer in time. */
  storeFailed(charges: readonly CountedCharge[], since: number): void {
    this.storeFailures++;
    if (since !== 0 && charges[0]!.mode !== 'peek') this.measured.latency.observe(performance.now() - since);
  }

  /** Counts a probe that was not answered. */
  probeFailed(): void {
    this.storeFailures++;
  }

  /** Counts a function of the application that failed, or took longer than the deadline. */
  functionFailed(kind: keyof RateLimitStats['functionFailures']): void {
    this.functionFailures[kind]++;
  }

  /** Counts a look-up of a client's plan, by the plan's source. */
  planFound(source: keyof RateLimitStats['plans']): void {
    this.plans[source]++;
  }

  /** Counts a request whose address is in a list of the module. */
  addressListed(list: 'allow' | 'block'): void {
    if (list === 'allow') this.addresses.allowed++;
    else this.addresses.blocked++;
  }

  /** Counts the requests of a policy without the identity that it asks for, from zero on. */
  expectIdentities(policy: string): void {
    const { missingIdentities: counts } = this;
    if (counts.size < MAX_TALLIES && !counts.has(policy)) counts.set(policy, 0);
  }

  /** Counts a request that a policy counted by its address, because it lacks the identity that the policy asks for. */
  identityMissing(policy: string): void {
    const { missingIdentities: counts } = this;
    const name = counts.size < MAX_TALLIES || counts.has(policy) ? policy : OTHER;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  /** Counts a request that did not fit a policy, and that a policy behind its `else` took. */
  ranOver(policy: string, to: string): void {
    const { runOver } = this;
    const id = `${policy}\n${to}`;
    const isKnown = runOver.has(id) || runOver.size < MAX_TALLIES;
    const [known, one] = isKnown ? [id, { policy, to }] : [OTHER, { policy: OTHER, to: OTHER }];
    const tally = runOver.get(known) ?? { ...one, requests: 0 };
    tally.requests++;
    runOver.set(known, tally);
  }

  /**
   * Measures how long a request has waited for its departure slot.
   *
   * @param since what `begin` returned when it began to wait
   */
  waited({ policies }: Pick<Decision, 'policies'>, result: QueueTimeStats['result'], since: number): void {
    if (since === 0 || policies.length === 0) return;
    const latest = policies.reduce((longest, one) => (one.delayMs > longest.delayMs ? one : longest));
    this.measured.queue.observe(performance.now() - since, latest, result);
  }

  /** Counts a batch of `size` requests that was sent to Redis. */
  batch(size: number): void {
    this.measured.batches.observe(size);
  }

  storeChanged({ available, reason, node = '' }: StoreStateChange): void {
    if (available) this.outages.delete(node);
    else this.outages.set(node, { reason, since: performance.now() });
  }

  stats(): Omit<
    RateLimitStats,
    'waiting' | 'scheduled' | 'leases' | 'memoryOverflows' | 'prefetch' | 'overrides' | 'shedding' | 'reservations'
  > & {
    overridden: OverriddenCharges;
  } {
    const { allowed, storeFailures } = this;
    const [outage] = this.outages.values(); // the longest one
    const sources = { ...this.sources };
    const requests = Object.values(sources).reduce((sum, count) => sum + count, 0);
    return {
      requests,
      allowed,
      rejected: requests - allowed - sources.closed,
      unavailable: sources.closed,
      sources,
      policies: this.policies.snapshot(),
      shadows: this.policies.snapshotOfShadows(),
      latencyMs: this.timing ? this.measured.latency.snapshot() : undefined,
      queueTimes: this.measured.queue.snapshot(),
      batchSizes: this.measured.batches.snapshot(),
      storeFailures,
      overridden: { ...this.overrides },
      functionFailures: { ...this.functionFailures },
      plans: { ...this.plans },
      addresses: { ...this.addresses },
      topRejected: this.rejectedIdentities.top(),
      runOver: Array.from(this.runOver.values(), (one) => ({ ...one })),
      missingIdentities: Array.from(this.missingIdentities, ([policy, count]) => ({ policy, requests: count })),
      store: {
        available: outage === undefined,
        reason: outage?.reason,
        outageMs: outage === undefined ? 0 : performance.now() - outage.since,
      },
    };
  }

  /** Counts a rejected identity. A policy that counts all clients together rejects none in particular. */
  private rejected({ policy, identity = '' }: CountedCharge): void {
    if (policy.globalKey === undefined) this.rejectedIdentities.count(identity, policy.name);
  }

  private count(
    charges: readonly CountedCharge[],
    decision: DecisionEvent['decision'],
    source: DecisionSource,
    handler: HandlerContext | undefined,
    since: number,
    all = charges,
  ): void {
    this.sources[source]++;
    if (decision.allowed) this.allowed++;
    this.policies.count(charges, decision);
    if (since !== 0) this.watched(all, decision, source, handler, since);
  }

  private watched(
    charges: readonly CountedCharge[],
    decision: DecisionEvent['decision'],
    source: DecisionSource,
    handler: HandlerContext | undefined,
    since: number,
  ): void {
    const durationMs = performance.now() - since;
    if (source === 'store') this.measured.latency.observe(durationMs);
    const { onDecision } = this;
    if (onDecision === undefined && this.observers.size === 0) return;
    const anonymous = { decision, source, route: handler && routeName(handler), durationMs };
    const event: DecisionEvent =
      this.naming === undefined ? anonymous : { ...anonymous, identities: identitiesOf(charges, this.naming) };
    for (const observer of this.observers) observer(event);
    if (onDecision === undefined) return;
    notify(onDecision, event, (error) =>
      this.hookFailed.warn(withHelp(`onDecision failed: ${reasonOf(error)}`, 'FG_FUNCTION_FAILED')),
    );
  }
}

function identitiesOf(charges: readonly CountedCharge[], naming: IdentityNaming): Record<string, string> {
  return Object.fromEntries(charges.map(({ policy, identity = '' }) => [policy.name, namedIdentity(identity, naming)]));
}
