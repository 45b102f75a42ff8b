import type { Identity } from '../../identity/identity.js';
import { globalTag, tagFor, valueText } from '../../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone } from '../../policy/bound-policy.js';
import type { ChargeMode } from '../../stores/charge.js';
import type { EntryHandle } from '../../stores/memory/entry.js';
import { shown } from '../../util/config-error.js';
import { flatten, ownText } from '../../util/flat-text.js';
import { checkConsumable, checkPlan, checkTimeZone, costOf } from './call-arguments.js';
import type { Engine } from '../engine.js';
import type { PolicyCharge } from '../policy-charge.js';
import { isPlain } from '../plain.js';
import { type Plans, underPlan } from '../functions/plans.js';

/** The identity of a call; none where all policies count all clients together. */
export type MaybeNone = Identity | null | undefined;

/** What the caller knows of a call. */
export interface CallOptions {
  readonly cost?: number | undefined;
  readonly plan?: string | null | undefined;
  readonly timeZone?: string | undefined;
}

/** Charges that are kept, ready made: building and hashing their keys costs more than the rest of a decision. */
const MAX_RECENT = 20_000;
/** Longer identities are not kept. API keys are not kept either: this process should not remember secrets. */
const MAX_RECENT_LENGTH = 64;

/** A client whose charges under some policies are kept. */
export interface RecentClient extends EntryHandle {
  readonly kind: string;
  readonly policies: readonly BoundPolicy[];
  readonly charges: readonly PolicyCharge[];
  /** The only charge, if it is plain: it has the numbers of its policy, which is at hand where the charge itself is not. */
  readonly plain: PolicyCharge | undefined;
}

/** Makes the charges of calls without a request, and keeps those of recent clients. */
export class CallCharges {
  /** By the value of their identity. */
  private recent = new Map<string, RecentClient>();
  private recentCharges = 0;

  constructor(
    private readonly limiter: Pick<Engine, 'charge'>,
    private readonly plans: Pick<Plans<never>, 'lastKnown'> | undefined,
  ) {}

  /** A client that has asked the same before without options. */
  recentOf(policies: readonly BoundPolicy[], identity: MaybeNone): RecentClient | undefined {
    const value = valueText(identity?.value);
    const known = value === undefined ? undefined : this.recent.get(value);
    return known !== undefined && known.kind === identity!.kind && sameOf(known.policies, policies) ? known : undefined;
  }

  /**
   * The charges of `consume`; of cost 0 they are peeks.
   *
   * @param where how errors begin: the method that was called
   */
  ofConsume(
    policies: readonly BoundPolicy[],
    identity: MaybeNone,
    options: CallOptions | undefined,
    where: string,
  ): readonly PolicyCharge[] {
    const tag = tagOfCall(identity, policies, where);
    if (hasEffect(options)) {
      const { cost } = options;
      if (cost !== 0) checkConsumable(policies, where);
      return this.make(policies, tag, cost, cost === 0 ? 'peek' : 'take', where, options);
    }
    checkConsumable(policies, where);
    const charges = this.make(policies, tag, undefined, 'take', where);
    if (identity === undefined || identity === null) return charges;
    const { kind } = identity;
    const value = valueText(identity.value)!;
    if (mayKeep(policies, kind, value)) this.keep(policies, kind, value, charges);
    return charges;
  }

  /**
   * One charge of each policy.
   *
   * @param identity the identity's tag; undefined where all policies count all clients together
   * @param where as of `ofConsume`
   */
  make(
    policies: readonly BoundPolicy[],
    identity: string | undefined,
    cost: number | undefined,
    mode: ChargeMode,
    where: string,
    { plan, timeZone }: CallOptions = {},
  ): PolicyCharge[] {
    if (plan !== undefined) checkPlan(plan, policies, where);
    const zone = timeZone === undefined ? undefined : checkTimeZone(timeZone, policies, where);
    return policies.map((policy) => {
      const tag = identity ?? globalTag(policy.name);
      const own = costOf(policy, cost, where);
      const planned = policy.plans === undefined ? policy : this.planned(policy, tag, plan, where);
      return this.limiter.charge(
        planned.timeZone === undefined ? planned : zoned(planned, zone, where),
        tag,
        own,
        mode,
      );
    });
  }

  private keep(policies: readonly BoundPolicy[], kind: string, value: string, charges: readonly PolicyCharge[]): void {
    if (this.recentCharges >= MAX_RECENT) [this.recent, this.recentCharges] = [new Map(), 0]; // they are made anew
    this.recentCharges += charges.length - (this.recent.get(value)?.charges.length ?? 0);
    for (const charge of charges) {
      flatten(charge.key);
      flatten(charge.identity);
    }
    const plain = charges.length === 1 && isPlain(charges[0]!) ? charges[0] : undefined;
    this.recent.set(ownText(value), { kind, policies, charges, plain, entry: undefined });
  }

  private planned(policy: BoundPolicy, tag: string, plan: string | null | undefined, where: string): BoundPolicy {
    if (plan !== undefined) return underPlan(policy, plan ?? undefined);
    if (this.plans !== undefined) return underPlan(policy, this.plans.lastKnown(tag));
    throw new TypeError(
      `${where}: policy '${policy.name}' has plans, and nothing says which plan the client has: give { plan: 'pro' }, { plan: null } for ` +
        `none, or RateLimitModule a plan`,
    );
  }
}

/**
 * The tag of the identity that a call gives; undefined where it gives none, and none is needed.
 *
 * @param where how errors begin: the method that was called
 * @throws {TypeError} when a policy counts an identity, and the call gives none
 * @throws {RateLimitConfigError} for a wrong kind or value
 */
export function tagOfCall(identity: MaybeNone, policies: readonly BoundPolicy[], where: string): string | undefined {
  if (identity !== undefined && identity !== null) return tagFor(identity, where);
  const counting = policies.find(({ by }) => by !== 'global');
  if (counting === undefined) return undefined;
  throw new TypeError(
    `${where}: policy '${counting.name}' counts an identity, got ${shown(identity)}: give { kind: 'user', value: '...' }. ` +
      `Policies by: 'global' alone need none`,
  );
}

/** A policy that is written in a call is the same one each time, in another array. */
function sameOf(some: readonly BoundPolicy[], others: readonly BoundPolicy[]): boolean {
  if (some === others) return true;
  return some.length === others.length && some.every((one, i) => one === others[i]);
}

/** Whether the options of a call may change its charges. */
export function hasEffect(options: CallOptions | undefined): options is CallOptions {
  return (
    options !== undefined &&
    (options.cost !== undefined || options.plan !== undefined || options.timeZone !== undefined)
  );
}

/** A client's plan changes, so what it was charged under is not kept. */
function mayKeep(policies: readonly BoundPolicy[], kind: string, value: string): boolean {
  if (kind === 'api-key' || value.length > MAX_RECENT_LENGTH) return false;
  return policies.every(({ plans }) => plans === undefined);
}

/** @throws {TypeError} when the call gives no time zone */
function zoned(policy: BoundPolicy, zone: string | undefined, where: string): BoundPolicy {
  if (zone !== undefined) return inTimeZone(policy, zone);
  throw new TypeError(
    `${where}: the time zone of policy '${policy.name}' is a function of a request: give { timeZone: 'Europe/Paris' } outside of a request`,
  );
}
