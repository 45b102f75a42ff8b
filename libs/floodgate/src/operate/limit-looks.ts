import type { Identity } from '../identity/identity.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import { withElse } from '../policy/else-policies.js';
import type { Engine } from '../engine/engine.js';
import type { CountedIdentities } from './identities/counted-identities.js';
import { checkOrder } from '../engine/calls/call-arguments.js';
import type { LimitExplanation } from './explain/explanation.js';
import type { LimitExplainer } from './explain/limit-explainer.js';
import { isReference, type LimitReference } from './explain/limit-references.js';
import type { LimitTable } from './explain/limit-table.js';
import type { TimeZones } from '../functions/time-zones.js';
import type { Gates } from '../scheduling/gates.js';
import type { Pauses } from '../scheduling/pauses.js';
import { hasZoneOfRequest } from '../engine/calls/call-arguments.js';
import { checkOptions } from '../engine/calls/option-names.js';
import type { CallCharges } from '../engine/calls/call-charges.js';
import type { LookOptions } from '../charges/call-options.js';
import type { CallPolicies, LimiterPolicy } from '../engine/calls/call-policies.js';
import { type ResetState, resetStates } from './reset-states.js';

/** What `RateLimiter.peek` and `reset` look at: policies as in `consume`, or one policy or route by reference. */
export type LimitTarget = LimiterPolicy | readonly LimiterPolicy[] | LimitReference;

/** The policies of the application's routes, as the framework knows them. */
export interface RoutePolicySource {
  /** The policies of this name on routes. */
  boundTo(name: string): Iterable<BoundPolicy>;
}

type Who = Identity | string | null | undefined;

const LOOK_OPTIONS = ['plan', 'timeZone', 'priority'] as const;

/** The methods of `RateLimiter` that take policies or a route: `peek`, `reset` and `explain`. They charge nothing. */
export class LimitLooks {
  constructor(
    private readonly engine: Engine,
    private readonly policies: CallPolicies,
    private readonly charges: CallCharges,
    private readonly routes: RoutePolicySource,
    private readonly explainer: LimitExplainer,
    private readonly timeZones: Pick<TimeZones<never>, 'look'>,
    private readonly gates: Pick<Gates, 'freedSoon'>,
    private readonly pauses: Pick<Pauses, 'end'>,
    private readonly identities: Pick<CountedIdentities, 'expect' | 'tagOf'>,
  ) {}

  async peek(target: LimitTarget, identity: Who, options: LookOptions | undefined): Promise<Decision> {
    const where = 'RateLimiter.peek';
    this.checkOrder('peek', target, identity);
    if (options !== undefined) checkOptions(options, 'peek', LOOK_OPTIONS);
    if (typeof target === 'string' ? !this.isRouteName(target) : !isReference(target) || 'policy' in target) {
      const named = typeof target === 'object' && 'policy' in target ? target.policy : target;
      const policies = this.policies.bind(named as LimiterPolicy | readonly LimiterPolicy[], 'peek');
      const tag = this.tagOf(identity, policies, where);
      return this.engine.decision(this.charges.make(policies, tag, 0, 'peek', where, options));
    }
    const given = isNone(identity) ? undefined : this.identities.tagOf(identity, where);
    const policies = this.explainer.peekable(target as LimitReference, given, where);
    if (policies.length === 0) return unlimited();
    const tag = this.tagOf(given, policies, where);
    const known = withElse(policies).some(hasZoneOfRequest) ? this.timeZones.look(tag ?? '').zone : undefined;
    const { plan, timeZone = known, priority } = options ?? {};
    return this.engine.decision(this.charges.make(policies, tag, 1, 'peek', where, { plan, timeZone, priority }));
  }

  async reset(target: LimitTarget, identity: Who): Promise<readonly ResetState[]> {
    const where = 'RateLimiter.reset';
    this.checkOrder('reset', target, identity);
    const policies = this.resettable(target, !isNone(identity), where);
    const tag = this.tagOf(identity, policies, where);
    if (!isNone(identity)) this.identities.expect(policies, tag!, where);
    const cleared = await resetStates(this.engine, this.charges, policies, tag);
    const states = this.charges.states(policies, tag);
    this.pauses.end(states);
    this.gates.freedSoon(states.flatMap(({ keys }) => keys));
    return cleared;
  }

  async explain(
    target: LimitReference | null,
    identity: Who,
    options: LookOptions | undefined,
  ): Promise<LimitExplanation> {
    this.checkOrder('explain', target, identity);
    if (options !== undefined) checkOptions(options, 'explain', LOOK_OPTIONS);
    return this.explainer.explain(target, identity, options ?? {});
  }

  table(): LimitTable {
    return this.explainer.table();
  }

  /** The identity tag of a call that takes an identity or its tag. */
  private tagOf(identity: Who, policies: readonly BoundPolicy[], where: string): string | undefined {
    return isNone(identity)
      ? this.charges.identityTag(identity, policies, where)
      : this.identities.tagOf(identity, where);
  }

  private checkOrder(method: string, target: unknown, identity: unknown): void {
    const { references } = this.explainer;
    checkOrder(method, target, identity, (text) => references.isPolicy(text) || references.isRoute(text));
  }

  /** Whether a text names a route, and no policy. */
  private isRouteName(text: string): boolean {
    const { references } = this.explainer;
    return !this.policies.wasPeeked(text) && !references.isPolicy(text) && references.isRoute(text);
  }

  private resettable(target: LimitTarget, isOneClient: boolean, where: string): readonly BoundPolicy[] {
    if (isReference(target)) return this.explainer.resettable(target, isOneClient, where);
    // An array, or one policy with its options.
    return [target].flat().flatMap((one: LimiterPolicy): readonly BoundPolicy[] => {
      if (typeof one === 'string') return this.explainer.resettable({ policy: one }, isOneClient, where);
      const named = this.policies.bindAll(one, where);
      return [...named, ...named.flatMap(({ name }) => [...this.routes.boundTo(name)])];
    });
  }
}

function isNone(identity: unknown): identity is null | undefined {
  return identity === undefined || identity === null;
}

/** The decision without any policy. No store was asked, so its instant is that of this process's clock. */
function unlimited(): Decision {
  return { allowed: true, decidedBy: 'store', policies: [], retryAfterMs: 0, delayMs: 0, decidedAtMs: Date.now() };
}
