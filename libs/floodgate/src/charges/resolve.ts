import type { ResolvedIdentities } from '../identity/resolved-identities.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { ChargeMode } from '../stores/charge.js';
import { type Answer, andThen } from '../util/answer.js';
import { isPromise } from '../util/is-promise.js';
import { chargeOf, inPlaceOf, type LateNumbers, type PolicyCharge } from './policy-charge.js';

/** The source of a charge's parts: a request and the application's functions, or the options of a call. */
export interface Asker<Context> {
  /**
   * The tag of the identity that a policy counts.
   *
   * @param resolved what other policies of the request found
   */
  tagOf(policy: BoundPolicy, context: Context, resolved: ResolvedIdentities | undefined): Answer<string>;
  /** A whole number from 0. */
  costOf(policy: BoundPolicy, context: Context): Answer<number>;
  /** Whether the call gives a policy its cost. Default: it does not. */
  givesCost?(policy: BoundPolicy, context: Context): boolean;
  /** How a policy is charged. */
  modeOf(policy: BoundPolicy, context: Context): ChargeMode;
  /** The policy under the plan of a client. It is asked about policies with plans. */
  ofPlan(policy: BoundPolicy, tag: string, context: Context): Answer<BoundPolicy>;
  /**
   * How a request waits for the numbers of a client's plan, where others stand in for them; undefined where they are known, or
   * are not expected. Without it, no request waits.
   */
  planToCome?(policy: BoundPolicy, tag: string): LateNumbers['known'] | undefined;
  /** The policy in a time zone. It is asked about policies whose zone is a function. */
  inZone(policy: BoundPolicy, tag: string, context: Context): Answer<BoundPolicy>;
  /** The policy for a class. It is asked about policies with priorities. */
  inClass(policy: BoundPolicy, context: Context): Answer<BoundPolicy>;
}

/** The policy with the numbers that count for a client: those of its plan, then of the time zone, then of the class. */
function numbersOf<Context>(
  asker: Asker<Context>,
  policy: BoundPolicy,
  tag: string,
  context: Context,
): Answer<BoundPolicy> {
  const { plans, timeZone, priorities } = policy;
  // Without closures where a class alone is asked for: most policies with priorities have a constant one.
  if (plans === undefined && timeZone === undefined) {
    return priorities === undefined ? policy : asker.inClass(policy, context);
  }
  const planned = plans === undefined ? policy : asker.ofPlan(policy, tag, context);
  const zoned = andThen(planned, (one) => (one.timeZone === undefined ? one : asker.inZone(one, tag, context)));
  return andThen(zoned, (one) => (one.priorities === undefined ? one : asker.inClass(one, context)));
}

/**
 * Makes the charge of a policy: its identity, its cost and its numbers. Returns no promise where no function answers with one.
 * The policy behind an `else` is resolved only when it is needed.
 *
 * @param cost that of the request; default the policy's own
 * @param isFinal whether the numbers count that are known by now
 */
export function resolve<Context>(
  asker: Asker<Context>,
  policy: BoundPolicy,
  context: Context,
  resolved?: ResolvedIdentities,
  cost?: number,
  isFinal = false,
): Answer<PolicyCharge> {
  const tag = asker.tagOf(policy, context, resolved);
  if (isPromise(tag)) {
    return tag.then((found) => priced(asker, policy, found, cost ?? asker.costOf(policy, context), context, isFinal));
  }
  return priced(asker, policy, tag, cost ?? asker.costOf(policy, context), context, isFinal);
}

function priced<Context>(
  asker: Asker<Context>,
  policy: BoundPolicy,
  tag: string,
  cost: Answer<number>,
  context: Context,
  isFinal: boolean,
): Answer<PolicyCharge> {
  // Without `andThen`: every request would pay for the closures.
  if (isPromise(cost)) return cost.then((known) => priced(asker, policy, tag, known, context, isFinal));
  const numbers = numbersOf(asker, policy, tag, context);
  if (isPromise(numbers)) return numbers.then((found) => charged(asker, policy, found, tag, cost, context, isFinal));
  return charged(asker, policy, numbers, tag, cost, context, isFinal);
}

function charged<Context>(
  asker: Asker<Context>,
  policy: BoundPolicy,
  numbers: BoundPolicy,
  tag: string,
  cost: number,
  context: Context,
  isFinal: boolean,
): PolicyCharge {
  const charge = chargeOf(numbers, tag, cost, asker.modeOf(policy, context));
  // A shadow rejects no request, so none waits for its numbers.
  const known = isFinal || policy.plans === undefined || policy.shadow ? undefined : asker.planToCome?.(policy, tag);
  if (known !== undefined) charge.late = { known, again: anew(asker, policy, tag, cost, context) };
  const instead = policy.else;
  if (instead !== undefined) {
    charge.instead = (head) => {
      const own = instead.hasCost || asker.givesCost?.(instead, context) === true ? undefined : head.cost;
      return andThen(resolve(asker, instead, context, undefined, own, isFinal), (other) => {
        const { late } = other;
        // A request that fits neither policy waits for the numbers of both.
        if (late !== undefined) {
          const both = (): Promise<unknown> => Promise.all([known?.(), late.known()]);
          head.late = { known: both, again: anew(asker, policy, tag, cost, context) };
        }
        return inPlaceOf(head, other);
      });
    };
  }
  return charge;
}

/** What makes a charge anew. Its identity and its cost stay. */
function anew<Context>(
  asker: Asker<Context>,
  policy: BoundPolicy,
  tag: string,
  cost: number,
  context: Context,
): LateNumbers['again'] {
  return (isFinal) => priced(asker, policy, tag, cost, context, isFinal);
}
