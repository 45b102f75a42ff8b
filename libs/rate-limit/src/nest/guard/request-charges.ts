import type { ExecutionContext } from '@nestjs/common';
import { ClientGoneError, IdentityMissingError } from '../../identity/errors.js';
import { ResolvedIdentities } from '../../identity/resolved-identities.js';
import { inPlaceOf, type PolicyCharge } from '../../charges/policy-charge.js';
import { allInOrder } from '../../util/all-in-order.js';
import { shown } from '../../util/config-error.js';
import { type Answer, andThen, attempt } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import { readable } from '../../util/thrown.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { BoundPolicy } from '../types.js';

/** A charge; undefined for a shadow that leaves the request out. */
type MadeCharge = Answer<PolicyCharge | undefined>;

/** Finds the identity that a policy counts: the guard's step. */
export type FindTag = (
  policy: BoundPolicy,
  context: ExecutionContext,
  resolved: ResolvedIdentities | undefined,
) => string | Promise<string>;

/** Makes the charges of a request: the identity that a policy counts, its cost, the numbers of the client's plan, and the request's class. */
export class RequestCharges {
  constructor(
    private readonly runtime: Pick<RateLimitRuntime, 'parts' | 'plans' | 'policyFunctions'>,
    private readonly tagOf: FindTag,
  ) {}

  /** Makes the charges of a request, without shadows that leave it out. Asynchronous charges are made in parallel. */
  makeAll(policies: readonly BoundPolicy[], context: ExecutionContext): Answer<readonly PolicyCharge[]> {
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
  private make(policy: BoundPolicy, context: ExecutionContext, resolved: ResolvedIdentities | undefined): MadeCharge {
    if (!policy.shadow) {
      const made = this.asked(policy, context, resolved);
      return policy.else === undefined ? made : andThen(made, (charge) => this.withElse(policy.else!, charge, context));
    }
    const leaveOut = (error: unknown): undefined => this.leaveOut(policy, error);
    return attempt<PolicyCharge, PolicyCharge | undefined>(
      () => this.asked(policy, context, resolved),
      (charge) => charge,
      leaveOut,
    );
  }

  /** Lets the policy of an `else` take a request that does not fit. Its identity and cost are found only then. */
  private withElse(instead: BoundPolicy, charge: PolicyCharge, context: ExecutionContext): PolicyCharge {
    charge.instead = (head) => {
      const made = this.asked(instead, context, undefined, instead.hasCost ? undefined : head.cost);
      return andThen(made, (other) => inPlaceOf(head, other));
    };
    return charge;
  }

  /** Leaves a request out of a shadow. A missing identity is not counted as a failure. */
  private leaveOut({ name }: BoundPolicy, thrown: unknown): undefined {
    const error = readable(thrown);
    if (error instanceof IdentityMissingError || error instanceof ClientGoneError) return;
    this.runtime.parts.functions.failed('policy', `policy '${name}' in shadow left a request out`, error);
  }

  private asked(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
    cost = policy.cost,
  ): Answer<PolicyCharge> {
    const tag = this.tagOf(policy, context, resolved);
    // A thenable of another library need not return a promise from `then`.
    return typeof tag === 'object' && isPromise(tag)
      ? Promise.resolve(tag).then((found) => this.priced(policy, found, cost, context))
      : this.priced(policy, tag, cost, context);
  }

  private priced(
    policy: BoundPolicy,
    tag: string,
    cost: BoundPolicy['cost'],
    context: ExecutionContext,
  ): Answer<PolicyCharge> {
    if (typeof cost === 'number') return this.charge(policy, tag, cost, context);
    return this.runtime.policyFunctions.costOf(policy, context).then((own) => this.charge(policy, tag, own, context));
  }

  private charge(policy: BoundPolicy, tag: string, cost: number, context: ExecutionContext): Answer<PolicyCharge> {
    if (typeof tag !== 'string' || tag === '') {
      throw new TypeError(`an identity's tag must be text, got ${shown(tag)}`);
    }
    if (policy.plans === undefined) return this.chargeInZone(policy, tag, cost, context);
    // No policy with plans is bound to a route without the module's `plan`.
    const planned = this.runtime.plans!.policyFor(policy, tag, context);
    return andThen(planned, (variant) => this.chargeInZone(variant, tag, cost, context));
  }

  private chargeInZone(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    context: ExecutionContext,
  ): Answer<PolicyCharge> {
    const { policyFunctions } = this.runtime;
    if (policy.timeZone === undefined) return this.chargeInClass(policy, tag, cost, context);
    return policyFunctions.timeZones
      .policyFor(policy, tag, context)
      .then((inZone) => this.chargeInClass(inZone, tag, cost, context));
  }

  private chargeInClass(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    context: ExecutionContext,
  ): Answer<PolicyCharge> {
    const { policyFunctions, parts } = this.runtime;
    const { engine } = parts;
    if (policy.priorityOf === undefined) return engine.charge(policy, tag, cost);
    return andThen(policyFunctions.inClass(policy, context), (variant) => engine.charge(variant, tag, cost));
  }
}
