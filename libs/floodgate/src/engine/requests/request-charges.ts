import { modeOf, type PolicyCharge } from '../../charges/policy-charge.js';
import { type Asker, resolve } from '../../charges/resolve.js';
import type { Plans } from '../../functions/plans.js';
import type { PolicyFunctions } from '../../functions/policy-functions.js';
import type { UserFunctions } from '../../functions/user-functions.js';
import { ClientGoneError, IdentityMissingError } from '../../identity/errors.js';
import { ResolvedIdentities } from '../../identity/resolved-identities.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import { allInOrder } from '../../util/all-in-order.js';
import { type Answer, attempt } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import { readable } from '../../util/thrown.js';

/** A charge; undefined for a shadow that leaves the request out. */
type MadeCharge = Answer<PolicyCharge | undefined>;

/** Finds the identity that a policy counts. */
export type FindTag<Context> = (
  policy: BoundPolicy<Context>,
  context: Context,
  resolved: ResolvedIdentities | undefined,
) => string | Promise<string>;

/** Makes the charges of a request. */
export class RequestCharges<Context extends object> implements Asker<Context> {
  constructor(
    private readonly functions: UserFunctions,
    private readonly policyFunctions: PolicyFunctions<Context>,
    /** Undefined where no policy has plans. */
    private readonly plans: Plans<Context> | undefined,
    readonly tagOf: FindTag<Context>,
  ) {}

  /** Makes the charges of a request, without shadows that leave it out. Asynchronous charges are made in parallel. */
  makeAll(policies: readonly BoundPolicy<Context>[], context: Context): Answer<readonly PolicyCharge[]> {
    const resolved = policies.length > 1 ? new ResolvedIdentities() : undefined;
    let made: MadeCharge[] | undefined;
    let waits = false;
    for (let i = 0; i < policies.length; i++) {
      let charge: MadeCharge;
      try {
        charge = this.make(policies[i]!, context, resolved);
      } catch (error) {
        if (!waits) throw error;
        charge = Promise.reject(error); // earlier promises must not stay unhandled
      }
      if (charge === undefined) continue;
      waits ||= isPromise(charge);
      // A literal with one element takes less than an empty array that grows.
      if (made === undefined) made = [charge];
      else made.push(charge);
    }
    if (!waits) return (made as PolicyCharge[] | undefined) ?? [];
    return allInOrder(made!).then((charges) => charges.filter((charge) => charge !== undefined));
  }

  /**
   * Makes the charge of one policy: without a promise, if all its functions are synchronous.
   *
   * @throws what the step that finds the identity throws; a shadow leaves the request out then
   */
  private make(policy: BoundPolicy<Context>, context: Context, resolved: ResolvedIdentities | undefined): MadeCharge {
    if (!policy.shadow) return resolve(this, policy, context, resolved);
    const leaveOut = (error: unknown): undefined => this.leaveOut(policy, error);
    return attempt<PolicyCharge, PolicyCharge | undefined>(
      () => resolve(this, policy, context, resolved),
      (charge) => charge,
      leaveOut,
    );
  }

  /** Leaves a request out of a shadow. A missing identity is not counted as a failure. */
  private leaveOut({ name }: BoundPolicy<Context>, thrown: unknown): undefined {
    const error = readable(thrown);
    if (error instanceof IdentityMissingError || error instanceof ClientGoneError) return;
    this.functions.failed('policy', `policy '${name}' in shadow left a request out`, error);
  }

  costOf(policy: BoundPolicy<Context>, context: Context): Answer<number> {
    return typeof policy.cost === 'number' ? policy.cost : this.policyFunctions.costOf(policy, context);
  }

  modeOf = modeOf;

  /** No policy with plans is bound where nothing says which plan a client has. */
  ofPlan(policy: BoundPolicy<Context>, tag: string, context: Context): Answer<BoundPolicy<Context>> {
    return this.plans!.policyFor(policy, tag, context);
  }

  planToCome(_policy: BoundPolicy<Context>, tag: string): (() => Promise<unknown>) | undefined {
    return this.plans!.toCome(tag);
  }

  inZone(policy: BoundPolicy<Context>, tag: string, context: Context): Answer<BoundPolicy<Context>> {
    return this.policyFunctions.timeZones.policyFor(policy, tag, context);
  }

  inClass(policy: BoundPolicy<Context>, context: Context): Answer<BoundPolicy<Context>> {
    return this.policyFunctions.inClass(policy, context);
  }
}
