import { globalTag, tagFor } from '../../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone, isSettled as isSettledLater } from '../../policy/bound-policy.js';
import { withElse } from '../../policy/else-policies.js';
import { underPriority } from '../../policy/under-priority.js';
import type { ChargeMode } from '../../stores/charge.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import {
  checkAcquirable,
  checkConsumable,
  checkPlan,
  checkPriority,
  checkTimeZone,
  costOf,
  isConcurrency,
  names,
} from './call-arguments.js';
import { chargeOf, type PolicyCharge } from '../../charges/policy-charge.js';
import { type CallCost, costsByName, isByName } from '../../charges/cost-by-name.js';
import { type Asker, resolve } from '../../charges/resolve.js';
import { KeptCalls, type KeptMethod } from './kept-calls.js';
import type { PlainCall, PlainPath } from '../../layers/plain/plain-path.js';
import { type Plans, underPlan } from '../../functions/plans.js';
import type { CallOptions, MaybeNone } from '../../charges/call-options.js';

/** What a call is charged. */
export interface ChargedCall {
  readonly charges: readonly PolicyCharge[];
  /** What the fast path decides on; undefined where the layers decide. */
  readonly plain: PlainCall | undefined;
}

/** What a scheduled call is charged. Its `plain` is undefined, too, where it may have to wait for a slot. */
export interface ScheduledCharges extends ChargedCall {
  /** Whether nothing is released or settled after the call. It is known before: the charges need not be read for it. */
  readonly isFinal: boolean;
}

/** What a pause of one policy stops. */
export interface PausedState {
  /** A peek under the policy's own numbers. */
  readonly charge: PolicyCharge;
  /** The keys of the identity's states, one for each plan. */
  readonly keys: readonly string[];
}

/** The needs of the policies of a scheduled call. */
interface ScheduledUse {
  readonly policies: readonly BoundPolicy[];
  /** Whether nothing is released or settled after the call, also where one of their `else` decides. */
  readonly endsAtOnce: boolean;
  /** Whether one of them is a concurrency. */
  readonly isLeased: boolean;
  /** Whether all of them are settled, or none. */
  readonly isSettled: boolean;
  readonly isFinal: boolean;
  /** The policies whose own cost is 0. */
  readonly free: readonly BoundPolicy[];
}

/** The cost that a call gives a policy; undefined where it gives none. */
type CostOf = (policy: BoundPolicy) => number | undefined;

/** The options of a call. */
interface AskedCall {
  /** The identity's tag; undefined where all policies count all clients together. */
  readonly identity: string | undefined;
  readonly plan: string | null | undefined;
  readonly zone: string | undefined;
  readonly priority: string | undefined;
  readonly costOf: CostOf;
  readonly modeOf: (policy: BoundPolicy) => ChargeMode;
  /** How errors begin: the method that was called. */
  readonly where: string;
}

/** Makes the charges of calls without a request, and keeps those of recent clients. */
export class CallCharges implements Asker<AskedCall> {
  private readonly kept: KeptCalls;
  /** What the last scheduled call needed: most callers repeat their policies. */
  private lastUse: ScheduledUse | undefined;

  constructor(
    private readonly plans: Pick<Plans<never>, 'look' | 'underLastKnown'> | undefined,
    private readonly ipv6Prefix: number,
    plain?: PlainPath,
  ) {
    this.kept = new KeptCalls(plain);
  }

  /**
   * The charges of a call: those of the last call with the same arguments, else new ones. `consume` with cost 0 makes peeks.
   *
   * @param where how errors begin: the method that was called
   * @throws {RateLimitConfigError} when the method cannot charge the policies so
   */
  of(
    method: KeptMethod,
    policies: readonly BoundPolicy[],
    identity: MaybeNone,
    options: CallOptions | undefined,
    where: string,
  ): ChargedCall {
    const kept = this.kept.find(method, policies, identity, options);
    if (kept !== undefined) return kept;
    if (method === 'acquire') checkAcquirable(policies, options?.cost, where);
    else if (method === 'reserve' || options?.cost !== 0) checkConsumable(withElse(policies), where);
    const tag = this.identityTag(identity, withElse(policies), where);
    const cost = options?.cost;
    const mode = method === 'reserve' ? 'reserve' : method === 'consume' && cost === 0 ? 'peek' : 'take';
    const charges = this.make(policies, tag, cost, mode, where, options);
    return this.kept.keep(method, policies, identity, options, charges) ?? { charges, plain: undefined };
  }

  /**
   * Makes the charges of a scheduled call: a policy whose final cost is known later is reserved, and a concurrency that is not
   * named takes its own cost of leases.
   *
   * @param isSettled whether the call has a final cost of its own
   */
  scheduled(
    policies: readonly BoundPolicy[],
    identity: MaybeNone,
    options: CallOptions | undefined,
    isSettled: boolean,
    where: string,
  ): ScheduledCharges {
    const use = this.lastUse?.policies === policies ? this.lastUse : (this.lastUse = useOf(policies));
    if (use.free.length > 0) checkNoneFree(use.free, costOfEach(options?.cost, policies, where), where);
    if (!use.isLeased && (use.isFinal || isSettled || use.isSettled)) {
      const method = use.isFinal && !isSettled ? 'consume' : 'reserve';
      const isFinal = use.endsAtOnce && !isSettled;
      const { charges, plain } = this.of(method, policies, identity, options, where);
      return { charges, isFinal, plain: isFinal && !charges[0]!.algorithm.delays ? plain : undefined };
    }
    const alone = policies.every(isConcurrency);
    if (isSettled && alone) {
      throw new RateLimitConfigError(
        where,
        `a cost that is a function of the result has no effect, because ${names(policies)} has leases, which are released`,
        'FG_OPTION_WITHOUT_EFFECT',
      );
    }
    const tag = this.identityTag(identity, policies, where);
    const given = costOfEach(options?.cost, policies, where);
    const saysLeases = alone || isByName(options?.cost);
    const cost = (policy: BoundPolicy): number | undefined =>
      isConcurrency(policy) && !saysLeases ? undefined : given(policy);
    const mode = (policy: BoundPolicy): ChargeMode =>
      isSettledLater(policy) || (isSettled && !isConcurrency(policy)) ? 'reserve' : 'take';
    const charges = this.make(policies, tag, cost, mode, where, options);
    return { charges, plain: undefined, isFinal: false };
  }

  /**
   * The states of an identity that a pause stops.
   *
   * @param identity see `make`
   */
  states(policies: readonly BoundPolicy[], identity: string | undefined): readonly PausedState[] {
    return policies.map((policy) => {
      const tag = identity ?? globalTag(policy.name);
      const [charge, ...planned] = this.underAllPlans(policy, tag).map((numbers) => chargeOf(numbers, tag, 0, 'peek'));
      return { charge: charge!, keys: [charge!, ...planned].map(({ key }) => key) };
    });
  }

  /** The policy, and its variants: for each of its plans, and for the known numbers of a client. */
  underAllPlans(policy: BoundPolicy, tag: string): readonly BoundPolicy[] {
    const { plans } = policy;
    if (plans === undefined) return [policy];
    return [policy, ...plans.values(), this.plans?.look(policy, tag).numbers ?? policy];
  }

  /**
   * Makes one charge for each policy.
   *
   * @param identity the identity's tag; undefined where all policies count all clients together
   * @param cost for all policies, by name, or of each
   * @param mode for all policies, or of each
   * @param where see `of`
   */
  make(
    policies: readonly BoundPolicy[],
    identity: string | undefined,
    cost: CallCost | undefined | CostOf,
    mode: ChargeMode | ((policy: BoundPolicy) => ChargeMode),
    where: string,
    { plan, timeZone, priority }: CallOptions = {},
  ): PolicyCharge[] {
    const all = withElse(policies);
    if (plan !== undefined) checkPlan(plan, all, where);
    const zone = timeZone === undefined ? undefined : checkTimeZone(timeZone, all, where);
    if (priority !== undefined) checkPriority(priority, policies, where);
    const costOfCall = typeof cost === 'function' ? cost : costOfEach(cost, policies, where);
    const modeOfCall = typeof mode === 'function' ? mode : (): ChargeMode => mode;
    const asked: AskedCall = { identity, plan, zone, priority, costOf: costOfCall, modeOf: modeOfCall, where };
    for (const policy of all) this.costOf(policy, asked); // a wrong cost is told before anything is charged
    // A call resolves without a promise.
    return policies.map((policy) => resolve(this, policy, asked) as PolicyCharge);
  }

  tagOf({ name }: BoundPolicy, { identity }: AskedCall): string {
    return identity ?? globalTag(name);
  }

  costOf(policy: BoundPolicy, { costOf: given, where }: AskedCall): number {
    return costOf(policy, given(policy), where);
  }

  givesCost(policy: BoundPolicy, { costOf: given }: AskedCall): boolean {
    return given(policy) !== undefined;
  }

  modeOf(policy: BoundPolicy, { modeOf }: AskedCall): ChargeMode {
    return modeOf(policy);
  }

  /** @throws {RateLimitConfigError} when nothing says which plan the client has */
  ofPlan(policy: BoundPolicy, tag: string, { plan, where }: AskedCall): BoundPolicy {
    if (plan !== undefined) return underPlan(policy, plan ?? undefined);
    if (this.plans !== undefined) return this.plans.underLastKnown(policy, tag);
    throw new RateLimitConfigError(
      where,
      `policy '${policy.name}' has plans, and nothing says which plan the client has: give { plan: 'pro' }, { plan: null } for ` +
        `none, or to RateLimitModule of Nest the option plan`,
    );
  }

  /** @throws {RateLimitConfigError} when the call gives no time zone */
  inZone(policy: BoundPolicy, _tag: string, { zone, where }: AskedCall): BoundPolicy {
    if (zone !== undefined) return inTimeZone(policy, zone);
    throw new RateLimitConfigError(
      where,
      `the time zone of policy '${policy.name}' is a function of a request: give { timeZone: 'Europe/Paris' } outside of a request`,
    );
  }

  /** @throws {RateLimitConfigError} when the call gives no class, and a function of a request does */
  inClass(policy: BoundPolicy, { priority, modeOf, where }: AskedCall): BoundPolicy {
    if (priority !== undefined) return underPriority(policy, priority);
    // A peek shows what the default class would get.
    if (policy.priorityOf === undefined || modeOf(policy) === 'peek') return policy;
    throw new RateLimitConfigError(
      where,
      `the priority of policy '${policy.name}' is a function of a request: give { priority: '${policy.priority}' } outside of a request`,
    );
  }

  /**
   * The tag of the identity that a call gives; undefined where it gives none, and none is needed.
   *
   * @param where how errors begin: the method that was called
   * @throws {RateLimitConfigError} when a policy counts an identity, and the call gives none
   * @throws {RateLimitConfigError} for a wrong kind or value
   */
  identityTag(identity: MaybeNone, policies: readonly BoundPolicy[], where: string): string | undefined {
    if (identity !== undefined && identity !== null) return tagFor(identity, where, this.ipv6Prefix);
    const counting = policies.find(({ by }) => by !== 'global');
    if (counting === undefined) return undefined;
    throw new RateLimitConfigError(
      where,
      `policy '${counting.name}' counts an identity, got ${shown(identity)}: give { kind: 'user', value: '...' }. ` +
        `Policies by: 'global' alone need none`,
    );
  }
}

function useOf(policies: readonly BoundPolicy[]): ScheduledUse {
  const endsAtOnce = !policies.some((policy) => isConcurrency(policy) || isSettledLater(policy));
  const free = policies.filter(({ cost }) => cost === 0);
  return {
    policies,
    endsAtOnce,
    isLeased: policies.some(isConcurrency),
    isSettled: policies.every(isSettledLater),
    isFinal: !policies.some(isSettledLater),
    free,
  };
}

/** @throws {RateLimitConfigError} when a policy's own cost of 0 counts: the call would run without a turn */
function checkNoneFree(free: readonly BoundPolicy[], given: CostOf, where: string): void {
  const one = free.find((policy) => given(policy) === undefined);
  if (one === undefined) return;
  throw new RateLimitConfigError(where, `the cost of policy '${one.name}' must be a whole number from 1, got 0`);
}

/** @throws {RateLimitConfigError} for costs by name that are wrong */
function costOfEach(cost: CallCost | undefined, policies: readonly BoundPolicy[], where: string): CostOf {
  if (!isByName(cost)) return () => cost;
  const costs = costsByName(cost, policies, where);
  return ({ name }) => costs.get(name);
}
