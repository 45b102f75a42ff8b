import type { Decision } from '../policy/decision.js';
import type { Outcome } from '../policy/outcome.js';
import { reserves } from '../stores/charge.js';
import { shown } from '../util/config-error.js';
import type { Fallback } from './fallback.js';
import type { PolicyCharge } from './policy-charge.js';
import { ReservedCharges } from './reserved-charges.js';
import type { StoreGateway } from './store-gateway.js';
import type { UserFunctions } from './user-functions.js';

/** Settles what requests were charged by policies with `countIf` or `settle`, when they have ended. */
export class RouteSettlements {
  constructor(
    private readonly gateway: StoreGateway,
    private readonly fallback: Fallback,
    private readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
  ) {}

  /**
   * What has to be called with the outcome of an allowed request; undefined where nothing is settled.
   *
   * @param charges those of the decision
   */
  of(charges: readonly PolicyCharge[], decision: Decision): ((outcome: Outcome) => void) | undefined {
    // Every request passes here: most settle nothing.
    let any = false;
    for (let i = 0; i < charges.length; i++) any ||= reserves(charges[i]!);
    return any ? (outcome) => void this.settle(decision, outcome) : undefined;
  }

  /** Never rejects: nobody waits for it. */
  private async settle(decision: Decision, outcome: Outcome): Promise<void> {
    const reserved = new ReservedCharges(decision, this.gateway, this.fallback);
    const costs = await Promise.all(reserved.charges.map((charge) => this.finalCost(charge, outcome)));
    try {
      reserved.checkEach(costs);
    } catch (error) {
      const names = reserved.charges.map(({ policy }) => `'${policy.name}'`).join(', ');
      this.functions.failed('settle', `policies ${names} were not settled, and their charges stay`, error);
      return;
    }
    await reserved.settleEach(costs);
  }

  /** What a function that fails leaves is the charge as it is. */
  private finalCost({ policy, cost }: PolicyCharge, outcome: Outcome): Promise<number> {
    const { name, countIf, settle } = policy;
    const otherwise = (): number => cost;
    if (countIf !== undefined) {
      const counts = async (): Promise<number> => (boolean(await countIf(outcome)) ? cost : 0);
      return this.functions.call(
        'countIf',
        `countIf of policy '${name}' failed, the request counts`,
        counts,
        otherwise,
      );
    }
    if (settle === undefined) return Promise.resolve(cost);
    const settles = async (): Promise<number> => whole(await settle(outcome));
    return this.functions.call('settle', `settle of policy '${name}' failed, its cost stays`, settles, otherwise);
  }
}

function boolean(returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned;
  throw new TypeError(`it must return true or false, got ${shown(returned)}`);
}

function whole(returned: unknown): number {
  if (Number.isSafeInteger(returned) && (returned as number) >= 0) return returned as number;
  throw new TypeError(`it must return a whole number from 0, got ${shown(returned)}`);
}
