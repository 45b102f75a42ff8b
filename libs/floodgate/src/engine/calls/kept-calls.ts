import { valueText } from '../../identity/identity-tag.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import { flatten, ownText } from '../../util/flat-text.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { type CostByName, isByName } from '../../charges/cost-by-name.js';
import type { CallOptions, MaybeNone } from '../../charges/call-options.js';
import type { PlainCall, PlainPath } from '../../layers/plain/plain-path.js';

/** The most charges to keep: building and hashing their keys costs more than the rest of a decision. */
const MAX_KEPT = 40_000;
/** The most calls to keep for one client. A further call, with other policies or options, replaces the oldest one. */
const MAX_OF_CLIENT = 8;
/** Longer identities, plans, time zones and classes are not kept. API keys are not kept either: this process should not remember secrets. */
const MAX_LENGTH = 64;

/** The methods whose charges are kept. */
export type KeptMethod = 'consume' | 'reserve' | 'acquire';

/** A copy of costs by name: the caller may change the object. */
interface KeptCosts {
  readonly byName: CostByName;
  /** How many names there are: the comparison counts those of a call in the same loop. */
  readonly names: number;
}

/** A call of one client, with its charges. */
export interface KeptCall extends Omit<CallOptions, 'cost'> {
  readonly method: KeptMethod;
  readonly cost: number | KeptCosts | undefined;
  readonly kind: string;
  readonly policies: readonly BoundPolicy[];
  readonly charges: readonly PolicyCharge[];
  /** Undefined where the layers decide. */
  readonly plain: PlainCall | undefined;
  /** The next kept call of a client with the same identity value. */
  next: KeptCall | undefined;
}

const NO_OPTIONS: CallOptions = { cost: undefined, plan: undefined, timeZone: undefined, priority: undefined };

/** The charges of recent calls without a request. */
export class KeptCalls {
  /** Calls by the value of their identity. */
  private byValue = new Map<string, KeptCall>();
  private charges = 0;
  /** The costs by name that were kept last. Calls that repeat them share the object, so that it is in the CPU's cache. */
  private lastCosts: KeptCosts | undefined;

  /** @param plain the fast path, if there is one */
  constructor(private readonly plain: PlainPath | undefined) {}

  /** The earlier call with the same arguments; undefined if it was not kept. */
  find(
    method: KeptMethod,
    policies: readonly BoundPolicy[],
    identity: MaybeNone,
    { cost, plan, timeZone, priority }: CallOptions = NO_OPTIONS,
  ): KeptCall | undefined {
    if (identity === undefined || identity === null) return undefined;
    const shared = isSameByName(this.lastCosts, cost) ? this.lastCosts : cost;
    const value = valueText(identity.value);
    let known = value === undefined ? undefined : this.byValue.get(value);
    for (; known !== undefined; known = known.next) {
      if (
        (known.policies === policies || sameOf(known.policies, policies)) &&
        known.method === method &&
        known.kind === identity.kind &&
        (known.cost === shared || isSameByName(known.cost, cost)) &&
        known.plan === plan &&
        known.timeZone === timeZone &&
        known.priority === priority
      ) {
        return known;
      }
    }
    return undefined;
  }

  /** Keeps the charges of a call; undefined if they may not be kept. */
  keep(
    method: KeptMethod,
    policies: readonly BoundPolicy[],
    identity: MaybeNone,
    { cost, plan, timeZone, priority }: CallOptions = NO_OPTIONS,
    charges: readonly PolicyCharge[],
  ): KeptCall | undefined {
    const text = valueText(identity?.value);
    if (text === undefined || cost === 0 || !mayKeep(policies, identity!.kind, text, plan)) return undefined;
    if (isLong(plan) || isLong(timeZone) || isLong(priority)) return undefined;
    if (this.charges >= MAX_KEPT) [this.byValue, this.charges] = [new Map(), 0]; // they are made anew
    for (const charge of charges) {
      flatten(charge.key);
      flatten(charge.identity);
      if (charge.block !== undefined) flatten(charge.block.key);
    }
    const value = ownText(text);
    const call: KeptCall = {
      method,
      kind: ownText(identity!.kind),
      policies,
      cost: isByName(cost) ? this.costsOf(cost) : cost,
      plan: owned(plan),
      timeZone: owned(timeZone),
      priority: owned(priority),
      charges,
      plain: method === 'consume' ? this.plain?.of(charges) : undefined,
      next: this.byValue.get(value),
    };
    this.byValue.set(value, call);
    this.charges += charges.length - cut(call);
    return call;
  }

  private costsOf(cost: CostByName): KeptCosts {
    if (isSameByName(this.lastCosts, cost)) return this.lastCosts;
    return (this.lastCosts = { byName: { ...cost }, names: Object.keys(cost).length });
  }
}

/** Forgets the calls beyond `MAX_OF_CLIENT`. Returns how many charges they had. */
function cut(call: KeptCall): number {
  let last = call;
  for (let i = 1; i < MAX_OF_CLIENT && last.next !== undefined; i++) last = last.next;
  let charges = 0;
  for (let { next } = last; next !== undefined; next = next.next) charges += next.charges.length;
  last.next = undefined;
  return charges;
}

function isLong(text: string | null | undefined): boolean {
  return typeof text === 'string' && text.length > MAX_LENGTH;
}

/** An option's text, which may be cut from a longer one. */
function owned<T extends string | null | undefined>(text: T): T {
  return typeof text === 'string' ? (ownText(text) as T) : text;
}

/** Whether a call names the same costs. A call with an inline object creates a new one each time. */
function isSameByName(known: KeptCall['cost'], given: CallOptions['cost']): known is KeptCosts {
  if (typeof known !== 'object' || !isByName(given)) return false;
  let names = 0;
  for (const name in given) {
    if (known.byName[name] !== given[name]) return false;
    names++;
  }
  return names === known.names;
}

/** Whether two lists name the same policies. A call with an inline list creates a new array each time. */
function sameOf(some: readonly BoundPolicy[], others: readonly BoundPolicy[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i]);
}

/**
 * Whether charges may be kept. A client's plan can change, so charges under a plan are kept only if the call names the plan.
 */
function mayKeep(
  policies: readonly BoundPolicy[],
  kind: string,
  value: string,
  plan: string | null | undefined,
): boolean {
  if (kind === 'api-key' || value.length > MAX_LENGTH) return false;
  return plan !== undefined || policies.every(({ plans }) => plans === undefined);
}
