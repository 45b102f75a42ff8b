import { globalTag } from '../../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone } from '../../policy/bound-policy.js';
import { withElse } from '../../policy/else-policies.js';
import { underPriority } from '../../policy/under-priority.js';
import type { Decision } from '../../policy/decision.js';
import type { OverrideLog } from '../../stores/override-log.js';
import { LimiterUnavailableError } from '../../charges/errors.js';
import type { LimitExplanation, PolicyExplanation } from './explanation.js';
import { asRow, eachOnce, type Explained, runsOver } from './else-row.js';
import type { CountedIdentities } from '../identities/counted-identities.js';
import { explainedBlock, isoOf, meets } from './explained-outcome.js';
import { ExplainedOverrides, shownOverride } from './explained-overrides.js';
import { EVERYONE } from '../../layers/overrides/override-text.js';
import { checkPlan, checkTimeZone } from '../../engine/calls/call-arguments.js';
import { checkExplainedPriority } from './explain-arguments.js';
import { type HandlerDirectory, type LimitReference, LimitReferences } from './limit-references.js';
import type { Engine } from '../../engine/engine.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { type Asker, resolve } from '../../charges/resolve.js';
import type { ChargeMode } from '../../stores/charge.js';
import type { Answer } from '../../util/answer.js';
import type { OverridablePolicies } from '../overrides/override-calls.js';
import { type Plans, underPlan } from '../../functions/plans.js';
import {
  type KnownHandler,
  type LimitTable,
  modeOf,
  plainNumbers,
  type PolicyDefaults,
  type TablePolicy,
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

/** A client, and what the call says of it. */
interface Look {
  readonly tag: string;
  readonly plan: string | null | undefined;
  readonly zone: string | undefined;
  readonly priority: string | undefined;
}

/** Shows which policies limit what, and the state of an identity under them. Charges and counts nothing. */
export class LimitExplainer implements Asker<Look> {
  readonly references: LimitReferences;
  private readonly overrides: ExplainedOverrides;

  constructor(private readonly sources: ExplainerSources) {
    this.references = new LimitReferences(sources.places, sources.policies);
    this.overrides = new ExplainedOverrides(sources.overrides);
  }

  table(): LimitTable {
    const { places, defaults, named, policies, engine } = this.sources;
    const { chosen, policies: all, except } = places.middleware;
    const app = Array.from(named, ({ name }) => policies.places(name).find(({ boundTo }) => boundTo === 'app'));
    const shown = (policy: BoundPolicy): TablePolicy => {
      const active = engine.overrideOf(policy, EVERYONE);
      return tablePolicy(policy, defaults, active === undefined ? null : shownOverride(active));
    };
    return {
      middleware: { chosen, policies: all.map(shown), except },
      routes: places.handlers().map((handler) => tableRoute(handler, shown)),
      named: app.flatMap((policy) => (policy === undefined ? [] : shown(policy))),
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
    const look: Look = { tag, plan, zone, priority };
    const found: Explained[] = [];
    for (let i = 0; i < policies.length; i += TOGETHER) {
      const some = policies.slice(i, i + TOGETHER).map((policy) => this.explainRow(policy, look));
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

  /** Explains a policy, and the one that its `else` leads to, as far as a request comes. */
  private async explainRow(first: BoundPolicy, look: Look): Promise<readonly Explained[]> {
    // A look resolves without a promise: the charge, and the plan and the zone that are shown, are of one instant.
    const charge = resolve(this, first, look) as PolicyCharge;
    const head = await this.explainOne(first, charge, look);
    if (charge.instead === undefined || !runsOver(head)) return [head];
    return asRow([head, await this.explainOne(first.else!, charge.instead(charge) as PolicyCharge, look)]);
  }

  /** @param charge of the policy under the numbers that count for the client */
  private async explainOne(policy: BoundPolicy, charge: PolicyCharge, look: Look): Promise<Explained> {
    const { engine, identities, pausedFor } = this.sources;
    const { tag } = look;
    const planned = charge.policy;
    const plan = this.planOf(policy, look);
    const zone = this.planned(policy, look).numbers.timeZone === undefined ? null : this.zoneOf(look);
    const counts = identities.counts(policy, tag);
    const active = counts === false ? undefined : engine.overrideOf(planned, tag);
    const [answer, override, pausedMs] = await Promise.all([
      counts === false ? undefined : this.decide(charge),
      active === undefined ? null : this.overrides.of(active),
      policy.boundTo === 'app' ? pausedFor(charge) : 0,
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
        cost: charge.cost,
        level: met.level,
        plan,
        timeZone: zone,
        priority: planned.priority ?? null,
        insteadOf: charge.insteadOf ?? null,
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

  /** The decision, or why there is none. What the policy's `else` leads to is explained by itself. */
  private async decide(charge: PolicyCharge): Promise<Decision | LimiterUnavailableError> {
    try {
      return await this.sources.engine.decision([{ ...charge, instead: undefined }]);
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return error;
      throw error;
    }
  }

  tagOf(_policy: BoundPolicy, { tag }: Look): string {
    return tag;
  }

  /** The policy's cost, or 1 where a function of the request says it. */
  costOf({ cost }: BoundPolicy): number {
    return typeof cost === 'number' ? Math.max(1, cost) : 1;
  }

  modeOf(): ChargeMode {
    return 'peek';
  }

  ofPlan(policy: BoundPolicy, _tag: string, look: Look): BoundPolicy {
    return this.planned(policy, look).numbers;
  }

  inZone(policy: BoundPolicy, _tag: string, look: Look): BoundPolicy {
    return inTimeZone(policy, this.zoneOf(look).name);
  }

  inClass(policy: BoundPolicy, { priority }: Look): BoundPolicy {
    return priority !== undefined && policy.priorities!.has(priority) ? underPriority(policy, priority) : policy;
  }

  private planOf(policy: BoundPolicy, look: Look): PolicyExplanation['plan'] {
    if (policy.plans === undefined) return null;
    const { numbers, isKnown } = this.planned(policy, look);
    return { name: numbers.plan ?? null, isKnown };
  }

  /** The policy under the client's plan, and whether the plan is known. */
  private planned(policy: BoundPolicy, { tag, plan: given }: Look): ReturnType<Plans<never>['look']> {
    if (given !== undefined) return { numbers: underPlan(policy, given ?? undefined), isKnown: true };
    const own = { numbers: policy, isKnown: false };
    return policy.plans === undefined ? own : (this.sources.plans?.look(policy, tag) ?? own);
  }

  private zoneOf({ tag, zone: given }: Look): NonNullable<PolicyExplanation['timeZone']> {
    if (given !== undefined) return { name: given, isKnown: true };
    const { zone, known } = this.sources.timeZones.look(tag);
    return { name: zone, isKnown: known };
  }
}

function routeOf({ context, handler, route, origin, guarded, chosen }: KnownHandler): LimitExplanation['route'] {
  return { context, handler, route, origin, guarded, chosen };
}

/** Whether there is a policy, and no client has a state of its own. */
function countsAllTogether(policies: readonly BoundPolicy[]): boolean {
  return policies.length > 0 && policies.every(({ by }) => by === 'global');
}
