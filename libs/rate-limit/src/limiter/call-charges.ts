import type { Identity } from '../identity/identity.js';
import { identityTag, valueText } from '../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone } from '../policy/bound-policy.js';
import { type ChargeMode, isPlain } from '../stores/charge.js';
import type { KnownPlace } from '../stores/memory/entry.js';
import { flatten, ownText } from '../util/own-text.js';
import { checkConsumable, checkPlan, checkTimeZone, constantCost } from './call-arguments.js';
import type { Limiter } from './limiter.js';
import type { PolicyCharge } from './policy-charge.js';
import { type Plans, underPlan } from './plans.js';

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
export interface RecentClient extends KnownPlace {
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
    private readonly limiter: Pick<Limiter, 'charge'>,
    private readonly plans: Pick<Plans<never>, 'lastKnown'> | undefined,
  ) {}

  /** A client that has asked the same before without options. */
  recentOf(policies: readonly BoundPolicy[], identity: Identity): RecentClient | undefined {
    const value = valueText(identity?.value);
    const known = value === undefined ? undefined : this.recent.get(value);
    return known !== undefined && known.kind === identity.kind && sameOf(known.policies, policies) ? known : undefined;
  }

  /** The charges of `consume`; of cost 0 they are peeks. */
  ofConsume(
    policies: readonly BoundPolicy[],
    identity: Identity,
    options: CallOptions | undefined,
  ): readonly PolicyCharge[] {
    if (hasEffect(options)) {
      const { cost } = options;
      if (cost !== 0) checkConsumable(policies);
      return this.make(policies, identityTag(identity), cost, cost === 0 ? 'peek' : 'take', options);
    }
    checkConsumable(policies);
    const charges = this.make(policies, identityTag(identity), undefined, 'take');
    const { kind } = identity;
    const value = valueText(identity.value)!;
    if (mayKeep(policies, kind, value)) this.keep(policies, kind, value, charges);
    return charges;
  }

  /** One charge of each policy. */
  make(
    policies: readonly BoundPolicy[],
    tag: string,
    cost: number | undefined,
    mode: ChargeMode,
    { plan, timeZone }: CallOptions = {},
  ): PolicyCharge[] {
    if (plan !== undefined) checkPlan(plan, policies);
    const zone = timeZone === undefined ? undefined : checkTimeZone(timeZone, policies);
    return policies.map((policy) => {
      const own = cost ?? constantCost(policy);
      const planned = policy.plans === undefined ? policy : this.planned(policy, tag, plan);
      return this.limiter.charge(planned.timeZone === undefined ? planned : zoned(planned, zone), tag, own, mode);
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

  private planned(policy: BoundPolicy, tag: string, plan: string | null | undefined): BoundPolicy {
    if (plan !== undefined) return underPlan(policy, plan ?? undefined);
    if (this.plans !== undefined) return underPlan(policy, this.plans.lastKnown(tag));
    throw new TypeError(
      `policy '${policy.name}' has plans, and nothing says which plan the client has: give { plan: 'pro' }, { plan: null } for ` +
        `none, or RateLimitModule a plan`,
    );
  }
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
  if (kind === 'key' || kind === 'api-key' || value.length > MAX_RECENT_LENGTH) return false;
  return policies.every(({ plans }) => plans === undefined);
}

/** @throws {TypeError} when the call gives no time zone */
function zoned(policy: BoundPolicy, zone: string | undefined): BoundPolicy {
  if (zone !== undefined) return inTimeZone(policy, zone);
  throw new TypeError(
    `the time zone of policy '${policy.name}' is a function of a request: give { timeZone: 'Europe/Paris' } outside of a request`,
  );
}
