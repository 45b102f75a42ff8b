import type { Identity } from '../../identity/identity.js';
import type { Decision } from '../../policy/decision.js';
import type { ExpiryOptions } from '../../policy/expiry.js';
import { type Answer, andThen } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import type { Engine } from '../engine.js';
import { Lease } from '../../holds/leases/lease.js';
import type { Leases } from '../../holds/leases/leases.js';
import type { Reservation } from '../../holds/settlements/reservation.js';
import type { Settling } from '../../holds/settlements/settling.js';
import type { CallCharges } from './call-charges.js';
import type { CallOptions, MaybeNone } from '../../charges/call-options.js';
import type { CallPolicies, LimiterPolicy } from './call-policies.js';
import { CHARGE_OPTIONS, checkOptions } from './option-names.js';

const CONSUME = 'RateLimiter.consume';
const CONSUME_SYNC = 'RateLimiter.consumeSync';
const RESERVE = 'RateLimiter.reserve';
const ACQUIRE = 'RateLimiter.acquire';

/** The methods of `RateLimiter` that charge at once. */
export class LimiterCalls {
  private readonly reserveOptions: readonly string[];

  constructor(
    private readonly engine: Engine,
    private readonly policies: CallPolicies,
    private readonly callCharges: CallCharges,
    private readonly leases: Leases,
    private readonly settling?: Settling,
  ) {
    this.reserveOptions = [...CHARGE_OPTIONS, ...(settling?.options ?? [])];
  }

  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Promise<Decision> {
    // This is not an async function, which would add a promise to every decision.
    try {
      const decision = this.decide('consume', policies, identity, options);
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  consumeSync(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Decision {
    const decision = this.decide('consumeSync', policies, identity, options);
    if (!isPromise(decision)) return decision;
    throw this.engine.answeredLater(decision, CONSUME_SYNC);
  }

  async reserve(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions & ExpiryOptions,
  ): Promise<Reservation> {
    const { engine, settling } = this;
    if (options !== undefined) checkOptions(options, 'reserve', this.reserveOptions);
    const bound = this.policies.bind(policies, 'reserve');
    const { charges } = this.callCharges.of('reserve', bound, identity, options, RESERVE);
    return (options && settling?.reserve(charges, options, RESERVE)) ?? engine.reserve(charges);
  }

  async acquire(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Promise<Lease> {
    if (options !== undefined) checkOptions(options, 'acquire', CHARGE_OPTIONS);
    const bound = this.policies.bind(policies, 'acquire');
    const { charges } = this.callCharges.of('acquire', bound, identity, options, ACQUIRE);
    return andThen(
      this.engine.decide(charges),
      ({ decision, receipts }) => new Lease(decision, this.leases.of(receipts)),
    );
  }

  private decide(
    method: 'consume' | 'consumeSync',
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: MaybeNone,
    options: CallOptions | undefined,
  ): Answer<Decision> {
    if (options !== undefined) checkOptions(options, method, CHARGE_OPTIONS);
    const bound = this.policies.bind(policies, method);
    const where = method === 'consume' ? CONSUME : CONSUME_SYNC;
    const { charges, plain } = this.callCharges.of('consume', bound, identity, options, where);
    const fast = plain && this.engine.plain!.decide(plain);
    if (fast !== undefined) return fast;
    if (method === 'consumeSync') this.engine.expectAnswersAtOnce(charges, where);
    return this.engine.decision(charges);
  }
}
