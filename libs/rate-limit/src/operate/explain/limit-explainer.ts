import { globalTag } from '../../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone } from '../../policy/bound-policy.js';
import { withElse } from '../../policy/else-policies.js';
import { underPriority } from '../../policy/under-priority.js';
import type { Decision } from '../../policy/decision.js';
import type { OverrideLog } from '../../stores/override-log.js';
import { LimiterUnavailableError } from '../../charges/errors.js';
import type { LimitExplanation, PolicyExplanation } from './explanation.js';
import { asRow, behind, eachOnce, type Explained, runsOver } from './else-row.js';
import type { CountedIdentities } from '../identities/counted-identities.js';
import { explainedBlock, isoOf, meets } from './explained-outcome.js';
import { ExplainedOverrides } from './explained-overrides.js';
import { checkPlan, checkTimeZone } from '../../engine/calls/call-arguments.js';
import { checkExplainedPriority } from './explain-arguments.js';
import { type HandlerDirectory, type LimitReference, LimitReferences } from './limit-references.js';
import type { Engine } from '../../engine/engine.js';
import { chargeOf, type PolicyCharge } from '../../charges/policy-charge.js';
import { type Numbers, numbersOf } from '../../charges/resolve.js';
import type { Answer } from '../../util/answer.js';
import type { OverridablePolicies } from '../overrides/override-calls.js';
import { type Plans, underPlan } from '../../functions/plans.js';
import {
  type KnownHandler,
  type LimitTable,
  modeOf,
  plainNumbers,
  type PolicyDefaults,
  tablePolicy,
  tableRoute,
} from './limit-table.js';
import type { LookOptions } from '../../charges/call-options.js';
import type { TimeZones } from '../../functions/time-zones.js';

/** What the explainer reads. */
export interface ExplainerSources {
  /** Decides without metrics and `onDecision`. */
  readonly engine: Pick<Engine, 'decision' | 'overrideOf' | 'overriddenCharge'>;
  readonly places: HandlerDirectory;
  readonly policies: OverridablePolicies;
  readonly identities: CountedIdentities;
  /** The names of the module's `policies`. */
  readonly named: Iterable<{ readonly name: string }>;
  readonly plans: Pick<Plans<never>, 'look'> | undefined;
  readonly timeZones: Pick<TimeZones<never>, 'look'>;
  readonly overrides: Pick<OverrideLog, 'get'>;
  /** Tells for how many milliseconds the calls of a charge's policy are paused. */
  readonly pausedFor: (charge: PolicyCharge) => Answer<number>;
  readonly defaults: PolicyDefaults;
}

/** Policies to ask at once. An application may have thousands, and each question has a deadline of its own. */
const TOGETHER = 64;
const WHERE = 'RateLimiter.explain';

/** What is known of a client. */
interface Known {
  readonly plan: string | null | undefined;
  readonly zone: string | undefined;
  readonly priority: string | undefined;
}

const NUMBERS: Numbers<Known> = {
  ofPlan: (policy, _tag, { plan }) => underPlan(policy, plan ?? undefined),
  inZone: (policy, _tag, { zone }) => inTimeZone(policy, zone!),
  inClass: (policy, { priority }) =>
    priority !== undefined && policy.priorities!.has(priority) ? underPriority(policy, priority) : policy,
};

/** Shows which policies limit what, and the state of an identity under them. Charges and counts nothing. */
export class LimitExplainer {
  readonly references: LimitReferences;
  private readonly overrides: ExplainedOverrides;

  constructor(private readonly sources: ExplainerSources) {
    this.references = new LimitReferences(sources.places, sources.policies);
    this.overrides = new ExplainedOverrides(sources.overrides);
  }

  table(): LimitTable {
    const { places, defaults, named, policies } = this.sources;
    const { chosen, policies: all, except } = places.middleware;
    const app = Array.from(named, ({ name }) => policies.places(name).find(({ boundTo }) => boundTo === 'app'));
    return {
      middleware: { chosen, policies: all.map((policy) => tablePolicy(policy, defaults)), except },
      routes: places.handlers().map((handler) => tableRoute(handler, defaults)),
      named: app.flatMap((policy) => (policy === undefined ? [] : tablePolicy(policy, defaults))),
    };
  }

  /**
   * The policies that `RateLimiter.peek` asks for a route: those of the module's `middleware` that count such an identity, and
   * the route's own. Empty for a route without policies.
   */
  peekable(what: LimitReference, identity: string | undefined, where: string): readonly BoundPolicy[] {
    const { handler, policies } = this.references.referred(what, where);
    if (handler === undefined) return policies;
    return this.references
      .known(handler, where)
      .filter(
        (policy) =>
          handler.policies.includes(policy) ||
          identity === undefined ||
          this.sources.identities.counts(policy, identity) !== false,
      );
  }

  /**
   * The policies that `RateLimiter.reset` clears: by a policy's name, or those of a route. For one client, the route's `by:
   * 'global'` policies are left out.
   */
  resettable(what: LimitReference, isOneClient: boolean, where: string): readonly BoundPolicy[] {
    const { handler, policies } = this.references.referred(what, where);
    if (handler === undefined) return policies;
    return this.references.known(handler, where).filter(({ by }) => !isOneClient || by !== 'global');
  }

  async explain(
    what: LimitReference | null,
    who: unknown,
    { plan, timeZone, priority }: LookOptions,
    where = WHERE,
  ): Promise<LimitExplanation> {
    const isOfAll = who === null || who === undefined;
    if (!isOfAll || what === null) this.sources.identities.tagOf(who, where); // an identity that is wrong comes before a name that is unknown
    const { handler, policies } =
      what === null
        ? { handler: undefined, policies: this.references.allPolicies() }
        : this.references.referred(what, where);
    const tag =
      isOfAll && countsAllTogether(policies) ? globalTag(policies[0]!.name) : this.sources.identities.tagOf(who, where);
    if (!isOfAll) this.sources.identities.check(tag, where);
    const all = withElse(policies);
    if (plan !== undefined) checkPlan(plan, all, where);
    const zone = timeZone === undefined ? undefined : checkTimeZone(timeZone, all, where);
    checkExplainedPriority(priority, all, where);
    const found: Explained[] = [];
    for (let i = 0; i < policies.length; i += TOGETHER) {
      const some = policies.slice(i, i + TOGETHER).map((policy) => this.explainRow(policy, tag, plan, zone, priority));
      found.push(...(await Promise.all(some)).flat());
    }
    const at = Math.max(0, ...found.map((one) => one.at)) || Date.now();
    const explained = (what === null ? eachOnce(found) : found).map((one) => one.explained);
    const shownOnes = what === null ? explained.filter(({ counts }) => counts !== false) : explained;
    const rejecting = shownOnes.filter(({ isRejected }) => isRejected);
    const passes = rejecting.flatMap(({ passesAt }) => passesAt ?? []);
    return {
      identity: tag,
      at: isoOf(at),
      route: handler === undefined ? null : routeOf(handler),
      isRejected: rejecting.length > 0,
      passesAt: passes.length === rejecting.length ? (passes.toSorted().at(-1) ?? isoOf(at)) : null,
      policies: [...rejecting, ...shownOnes.filter(({ isRejected }) => !isRejected)],
    };
  }

  /** Explains a policy, and those that its `else` leads to, as far as a request comes. */
  private async explainRow(
    first: BoundPolicy,
    tag: string,
    plan: string | null | undefined,
    zone: string | undefined,
    priority: string | undefined,
  ): Promise<readonly Explained[]> {
    const head = await this.explainOne(first, tag, constantCostOf(first), plan, zone, priority);
    const next = first.else;
    if (next === undefined || !runsOver(head)) return [head];
    // A policy without a cost of its own takes that of the request.
    const cost = next.hasCost ? constantCostOf(next) : head.explained.cost;
    return asRow([head, behind(head, await this.explainOne(next, tag, cost, plan, zone, priority))]);
  }

  private async explainOne(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    given: string | null | undefined,
    givenZone: string | undefined,
    priority: string | undefined,
  ): Promise<Explained> {
    const { engine } = this.sources;
    const plan = this.planOf(policy, tag, given);
    const zone = underPlan(policy, plan?.name ?? undefined).timeZone === undefined ? null : this.zoneOf(tag, givenZone);
    const planned = await numbersOf(NUMBERS, policy, tag, { plan: plan?.name, zone: zone?.name, priority });
    const counts = this.sources.identities.counts(policy, tag);
    const active = counts === false ? undefined : engine.overrideOf(planned, tag);
    const [answer, override, pausedMs] = await Promise.all([
      counts === false ? undefined : this.decide(planned, tag, cost),
      active === undefined ? null : this.overrides.of(planned, tag, active),
      policy.boundTo === 'app' ? this.sources.pausedFor(chargeOf(planned, tag, 0, 'peek')) : 0,
    ]);
    const variant = active === undefined ? planned : (engine.overriddenCharge(planned, tag)?.policy ?? planned);
    const met = meets(answer, active);
    const block = explainedBlock(policy, met);
    return {
      keyTail: policy.keyTail,
      at: met.atMs ?? 0,
      explained: {
        policy: policy.name,
        algorithm: policy.algorithm.name,
        scope: policy.boundTo,
        mode: modeOf(policy),
        numbers: plainNumbers(variant.numbers),
        counts,
        outcome: met.outcome,
        isRejected: met.isRejected,
        cost,
        level: met.level,
        plan,
        timeZone: zone,
        priority: planned.priority ?? null,
        insteadOf: null,
        override,
        block,
        pausedUntil: pausedMs > 0 ? isoOf((met.atMs ?? Date.now()) + pausedMs) : null,
        decidedBy: met.decidedBy,
        rejectedSince: met.isRejected
          ? (block?.since ?? (met.outcome === 'blocked' ? (override?.setAt ?? null) : null))
          : null,
        retryAfterMs: met.retryAfterMs,
        passesAt: met.atMs === undefined || met.retryAfterMs === null ? null : isoOf(met.atMs + met.retryAfterMs),
      },
    };
  }

  /** The decision, or why there is none. */
  private async decide(policy: BoundPolicy, tag: string, cost: number): Promise<Decision | LimiterUnavailableError> {
    const { engine } = this.sources;
    try {
      return await engine.decision([chargeOf(policy, tag, cost, 'peek')]);
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return error;
      throw error;
    }
  }

  private planOf({ plans }: BoundPolicy, tag: string, given: string | null | undefined): PolicyExplanation['plan'] {
    if (plans === undefined) return null;
    if (given !== undefined) return { name: nameIn(plans, given ?? undefined), isKnown: true };
    const { plan, known } = this.sources.plans?.look(tag) ?? { plan: undefined, known: false };
    return { name: nameIn(plans, plan), isKnown: known };
  }

  private zoneOf(tag: string, given: string | undefined): NonNullable<PolicyExplanation['timeZone']> {
    if (given !== undefined) return { name: given, isKnown: true };
    const { zone, known } = this.sources.timeZones.look(tag);
    return { name: zone, isKnown: known };
  }
}

/** What is asked for: the policy's cost, or 1 where a function of the request says it. */
function constantCostOf({ cost }: BoundPolicy): number {
  return typeof cost === 'number' ? Math.max(1, cost) : 1;
}

function nameIn(plans: NonNullable<BoundPolicy['plans']>, plan: string | undefined): string | null {
  return plan !== undefined && plans.has(plan) ? plan : null;
}

function routeOf({ context, handler, route, origin, guarded, chosen }: KnownHandler): LimitExplanation['route'] {
  return { context, handler, route, origin, guarded, chosen };
}

/** Whether there is a policy, and no client has a state of its own. */
function countsAllTogether(policies: readonly BoundPolicy[]): boolean {
  return policies.length > 0 && policies.every(({ by }) => by === 'global');
}
