import type { Decision, PolicyDecision } from '../policy/decision.js';
import { sameMeaning } from '../policy/meanings.js';
import type { BoundPolicy } from '../nest/route-policies.js';
import type { Charge } from '../stores/store.js';

const COUNTED = Symbol('rate limit counted');

interface CountedRequest {
  [COUNTED]?: Counted;
}

/** What a policy has taken for a request. */
interface Taken {
  readonly policy: BoundPolicy;
  readonly cost: number;
  readonly decidedBy: Decision['decidedBy'];
}

/** What is left for a step to charge. */
interface Rest {
  readonly policies: readonly BoundPolicy[];
  readonly charges: readonly Charge[];
}

/** What a request was charged for so far, where it passes the limiter twice: by the middleware, then by the guard. */
export class Counted {
  /** By key. */
  private readonly taken = new Map<string, Taken>();
  private policies: readonly PolicyDecision[] = [];
  private decidedAtMs = 0;
  /** The names of the policies of this step that charge a difference. */
  private readonly more = new Set<string>();
  /** The charges of this step in full, as looks. */
  private looks: Rest | undefined;

  /** From now on `of` finds what the request is charged for. */
  static begin(request: object): void {
    (request as CountedRequest)[COUNTED] = new Counted();
  }

  static of(request: object): Counted | undefined {
    return (request as CountedRequest)[COUNTED];
  }

  /**
   * What the policies have yet to charge: the difference in cost where the same policy has charged the request before, all of
   * it elsewhere. Equal keys alone are no proof of one policy: a window's key does not carry its limit.
   */
  rest(policies: readonly BoundPolicy[], charges: readonly Charge[]): Rest {
    if (this.taken.size === 0) return { policies, charges };
    const left: { policies: BoundPolicy[]; charges: Charge[] } = { policies: [], charges: [] };
    const looks: Charge[] = [];
    for (const [i, policy] of policies.entries()) {
      const charge = charges[i]!;
      const before = this.before(policy, charge);
      if (charge.cost <= before && before > 0) continue;
      if (before > 0) this.more.add(policy.name);
      left.policies.push(policy);
      left.charges.push(before === 0 ? charge : { ...charge, cost: charge.cost - before });
      looks.push({ ...charge, mode: 'peek' });
    }
    if (this.more.size > 0) this.looks = { policies: left.policies, charges: looks };
    return left;
  }

  /** Notes what an allowed request was charged; policies that let it pass uncounted are not among those of the decision. */
  charged(policies: readonly BoundPolicy[], charges: readonly Charge[], decision: Decision): void {
    const { decidedBy } = decision;
    for (const [i, policy] of policies.entries()) {
      const { key, cost } = charges[i]!;
      if (cost <= 0 || !decision.policies.some(({ policy: name }) => name === policy.name)) continue;
      this.taken.set(key, { policy, cost, decidedBy });
    }
  }

  /**
   * The looks that tell when a request rejected for a difference would pass, undefined where there is no difference. A retry
   * is charged by the middleware first, so that the difference alone would name an instant that is too early.
   */
  get wholeCost(): Rest | undefined {
    return this.looks;
  }

  /** The decision with the policies of the one before it, which are as far on as the time since. */
  withEarlier(decision: Decision): Decision {
    const now = performance.now();
    const passed = now - this.decidedAtMs;
    // A policy that charged a difference has said more than it had before.
    const earlier = this.policies
      .filter(({ policy }) => !this.more.has(policy))
      .map((policy) => ({ ...policy, resetAfterMs: Math.max(0, policy.resetAfterMs - passed) }));
    const policies = [...earlier, ...decision.policies];
    this.policies = policies;
    this.decidedAtMs = now;
    return { ...decision, policies };
  }

  /** What the same policy has taken under the charge's key. */
  private before(policy: BoundPolicy, { key, cost }: Charge): number {
    const taken = this.taken.get(key);
    if (taken === undefined || !sameMeaning(taken.policy, policy)) return 0;
    // What this process let pass by itself is no answer to a policy that wants another one, such as a 503, without a store.
    if (taken.decidedBy !== 'store' && taken.policy.onStoreFailure !== policy.onStoreFailure) return 0;
    // Charged in full, a cost that can never fit is rejected for good.
    return cost > policy.algorithm.maxCost ? 0 : taken.cost;
  }
}
