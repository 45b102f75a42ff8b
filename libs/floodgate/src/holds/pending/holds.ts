import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Outcome } from '../../policy/outcome.js';
import { reserves } from '../../stores/charge.js';
import { allOf, type Answer } from '../../util/answer.js';
import type { Receipt } from '../../charges/judgement.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { UserFunctions } from '../../functions/user-functions.js';
import type { HeldLease, Leases } from '../leases/leases.js';
import { finalCostByPolicy } from '../settlements/final-cost.js';
import { ReservedCharges } from '../settlements/reserved-charges.js';
import type { ChargeSettler, Settling } from '../settlements/settling.js';

/** A charge that is settled once its request or its call has ended. */
export interface ReservedCharge {
  readonly receipt: Receipt;
  /** The receipts of its judgement: those of one judgement are settled in one call. */
  readonly receipts: readonly Receipt[];
  /** Says the final cost: the policy that the request met, also where another one took it. */
  readonly policy: BoundPolicy;
  /** Settles it; undefined where its request alone does. */
  readonly settler: ChargeSettler | undefined;
}

/** What lasts beyond a decision, of requests and of scheduled calls: leases, which are released, and charges, which are settled. */
export class Holds {
  constructor(
    private readonly leases: Pick<Leases, 'of'>,
    readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
    private readonly settling?: Pick<Settling, 'settlerOf'>,
  ) {}

  /** The leases of an allowed judgement. */
  leasesOf(receipts: readonly Receipt[]): readonly HeldLease[] {
    return this.leases.of(receipts);
  }

  /**
   * The charges of an allowed judgement that are settled.
   *
   * @param charges those that were asked for
   */
  reservedOf(receipts: readonly Receipt[], charges: readonly PolicyCharge[]): readonly ReservedCharge[] {
    return receipts.flatMap((receipt) => {
      if (!reserves(receipt.charge)) return [];
      const { policy } = charges[receipt.index]!;
      return { receipt, receipts, policy, settler: this.settling?.settlerOf(receipt, policy) };
    });
  }

  /** The final cost by a policy's `countIf` or `settle`; undefined keeps the charged cost. */
  finalCost(policy: BoundPolicy, outcome: Outcome): Answer<number | undefined> {
    return finalCostByPolicy(this.functions, policy, outcome);
  }

  /** Settles charges at their final costs: those of one judgement in one call, and each that has a settler by itself. Never rejects. */
  settle(all: readonly (readonly [ReservedCharge, finalCost: number])[]): Answer<readonly unknown[]> {
    const together = new Map<readonly Receipt[], [Receipt, number][]>();
    const settled: Answer<unknown>[] = [];
    for (const [{ receipt, receipts, settler }, cost] of all) {
      const others = together.get(receipts);
      if (settler !== undefined) settled.push(settler.settleOrKeep(cost, (error) => this.kept([receipt], error)));
      else if (others === undefined) together.set(receipts, [[receipt, cost]]);
      else others.push([receipt, cost]);
    }
    for (const some of together.values()) settled.push(this.settleTogether(some));
    return allOf(settled);
  }

  private settleTogether(all: readonly (readonly [Receipt, number])[]): Answer<unknown> {
    const reserved = new ReservedCharges(all.map(([receipt]) => receipt));
    const costs = all.map(([, cost]) => cost);
    try {
      reserved.check(costs);
    } catch (error) {
      reserved.close();
      this.kept(reserved.receipts, error);
      return undefined;
    }
    return reserved.settle(costs);
  }

  private kept(receipts: readonly Receipt[], error: unknown): void {
    const names = receipts.map(({ charge }) => `'${charge.policy.name}'`).join(', ');
    this.functions.failed('settle', `policies ${names} were not settled, and their charges stay`, error);
  }
}
