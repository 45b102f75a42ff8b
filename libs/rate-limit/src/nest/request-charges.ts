import type { ExecutionContext } from '@nestjs/common';
import { ClientGoneError, IdentityMissingError } from '../identity/errors.js';
import type { ResolvedIdentities } from '../identity/resolved-identities.js';
import type { PolicyCharge } from '../limiter/policy-charge.js';
import { shown } from '../util/config-error.js';
import { isPromise } from '../util/is-promise.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { BoundPolicy } from './types.js';

/** A charge; undefined for a shadow that leaves the request out. */
export type MadeCharge = PolicyCharge | undefined | Promise<PolicyCharge | undefined>;

/** Finds the identity that a policy counts: the guard's step. */
type FindTag = (
  policy: BoundPolicy,
  context: ExecutionContext,
  resolved: ResolvedIdentities | undefined,
) => string | Promise<string>;

/** Makes the charges of a request: the identity that a policy counts, its cost, and the numbers of the client's plan. */
export class RequestCharges {
  constructor(
    private readonly runtime: Pick<RateLimitRuntime, 'engine' | 'plans' | 'functions' | 'policyFunctions'>,
    private readonly tagOf: FindTag,
  ) {}

  /** For a policy whose cost is a number. What needs no waiting is not awaited. */
  fixed(policy: BoundPolicy, context: ExecutionContext, resolved: ResolvedIdentities | undefined): MadeCharge {
    return policy.shadow ? this.ofShadow(policy, context, resolved) : this.ofFixed(policy, context, resolved);
  }

  /** For any policy. */
  later(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
  ): Promise<PolicyCharge | undefined> {
    const charge = this.asked(policy, context, resolved);
    return policy.shadow ? charge.catch((error: unknown) => this.leaveOut(policy, error)) : charge;
  }

  private ofFixed(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
  ): PolicyCharge | Promise<PolicyCharge> {
    const tag = this.tagOf(policy, context, resolved);
    if (typeof tag !== 'object' || !isPromise(tag)) return this.charge(policy, tag, policy.cost as number, context);
    // A thenable of another library need not return a promise from `then`.
    return Promise.resolve(tag).then((found) => this.charge(policy, found, policy.cost as number, context));
  }

  /** A shadow rejects nobody: what stops its charge leaves it out. */
  private ofShadow(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
  ): MadeCharge {
    const leaveOut = (error: unknown): undefined => this.leaveOut(policy, error);
    try {
      const charge = this.ofFixed(policy, context, resolved);
      return isPromise(charge) ? charge.catch(leaveOut) : charge;
    } catch (error) {
      return leaveOut(error);
    }
  }

  /** A request without an identity is no failure. */
  private leaveOut({ name }: BoundPolicy, error: unknown): undefined {
    if (error instanceof IdentityMissingError || error instanceof ClientGoneError) return;
    this.runtime.functions.failed('policy', `policy '${name}' in shadow left a request out`, error);
  }

  private async asked(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved: ResolvedIdentities | undefined,
  ): Promise<PolicyCharge> {
    const tag = await this.tagOf(policy, context, resolved);
    return this.charge(policy, tag, await this.runtime.policyFunctions.costOf(policy, context), context);
  }

  private charge(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    context: ExecutionContext,
  ): PolicyCharge | Promise<PolicyCharge> {
    if (typeof tag !== 'string' || tag === '') {
      throw new TypeError(`an identity's tag must be text, got ${shown(tag)}`);
    }
    if (policy.plans === undefined) return this.chargeInZone(policy, tag, cost, context);
    // No policy with plans is bound to a route without the module's `plan`.
    const planned = this.runtime.plans!.policyFor(policy, tag, context);
    return isPromise(planned)
      ? planned.then((variant) => this.chargeInZone(variant, tag, cost, context))
      : this.chargeInZone(planned, tag, cost, context);
  }

  private chargeInZone(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    context: ExecutionContext,
  ): PolicyCharge | Promise<PolicyCharge> {
    const { engine, policyFunctions } = this.runtime;
    if (policy.timeZone === undefined) return engine.charge(policy, tag, cost);
    return policyFunctions.timeZones.policyFor(policy, tag, context).then((inZone) => engine.charge(inZone, tag, cost));
  }
}
