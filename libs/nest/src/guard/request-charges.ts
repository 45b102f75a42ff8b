import type { ExecutionContext } from '@nestjs/common';
import { ResolvedIdentities } from 'floodgate';
import { type Answer, type Asker, ClientGoneError, IdentityMissingError, type PolicyCharge } from 'floodgate/internal';
import { allInOrder, attempt, isPromise, modeOf, readable, resolve } from 'floodgate/internal-boot';
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

/** Makes the charges of a request. */
export class RequestCharges implements Asker<ExecutionContext> {
  constructor(
    private readonly runtime: Pick<RateLimitRuntime, 'parts' | 'plans' | 'policyFunctions'>,
    readonly tagOf: FindTag,
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
    if (!policy.shadow) return resolve(this, policy, context, resolved);
    const leaveOut = (error: unknown): undefined => this.leaveOut(policy, error);
    return attempt<PolicyCharge, PolicyCharge | undefined>(
      () => resolve(this, policy, context, resolved),
      (charge) => charge,
      leaveOut,
    );
  }

  /** Leaves a request out of a shadow. A missing identity is not counted as a failure. */
  private leaveOut({ name }: BoundPolicy, thrown: unknown): undefined {
    const error = readable(thrown);
    if (error instanceof IdentityMissingError || error instanceof ClientGoneError) return;
    this.runtime.parts.functions.failed('policy', `policy '${name}' in shadow left a request out`, error);
  }

  costOf(policy: BoundPolicy, context: ExecutionContext): Answer<number> {
    return typeof policy.cost === 'number' ? policy.cost : this.runtime.policyFunctions.costOf(policy, context);
  }

  modeOf = modeOf;

  /** No policy with plans is bound to a route without the module's `plan`. */
  ofPlan(policy: BoundPolicy, tag: string, context: ExecutionContext): Answer<BoundPolicy> {
    return this.runtime.plans!.policyFor(policy, tag, context);
  }

  inZone(policy: BoundPolicy, tag: string, context: ExecutionContext): Answer<BoundPolicy> {
    return this.runtime.policyFunctions.timeZones.policyFor(policy, tag, context);
  }

  inClass(policy: BoundPolicy, context: ExecutionContext): Answer<BoundPolicy> {
    return this.runtime.policyFunctions.inClass(policy, context);
  }
}
