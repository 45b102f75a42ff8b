import type { Decision } from '../policy/decision.js';
import type { Outcome } from '../policy/outcome.js';
import { reserves } from '../stores/charge.js';
import { shown } from '../util/config-error.js';
import type { Fallback } from './fallback.js';
import type { PolicyCharge } from './policy-charge.js';
import { ReservedCharges } from './reserved-charges.js';
import type { StoreGateway } from './store-gateway.js';
import type { UserFunctions } from './user-functions.js';

/** What a request was charged so far. */
export interface ChargedSteps {
  /** The cost of the charge's policy with that of all steps; undefined where it was not charged. */
  wholeCost(charge: PolicyCharge): number | undefined;
}

/** Settles what requests were charged by policies with `countIf` or `settle`, when they have ended. */
export class RouteSettlements {
  /** Decisions whose departure slots were refunded or settled: a second refund could free the slot that another request has now. */
  private readonly slots = new WeakSet<Decision>();

  constructor(
    private readonly gateway: StoreGateway,
    private readonly fallback: Fallback,
    private readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
  ) {}

  /**
   * What has to be called with the outcome of an allowed request; undefined where nothing is settled.
   *
   * @param charges those of the decision
   * @param record what the request is charged in other steps; undefined where it passes the limiter once
   */
  of(
    charges: readonly PolicyCharge[],
    decision: Decision,
    record: ChargedSteps | undefined,
  ): ((outcome: Outcome) => void) | undefined {
    // Every request passes here: most settle nothing.
    let any = false;
    for (let i = 0; i < charges.length; i++) any ||= reserves(charges[i]!);
    if (!any) return undefined;
    if (record === undefined) return (outcome) => void this.settle(decision, outcome, ({ cost }) => [cost, cost]);
    // By name, which an override does not change: the whole cost so far ends with that of this step.
    const known = new Map(
      charges.map((charge) => [charge.policy.name, { charge, end: record.wholeCost(charge) ?? charge.cost }]),
    );
    return (outcome) =>
      void this.settle(decision, outcome, ({ policy }) => {
        const { charge, end } = known.get(policy.name)!;
        return [end, record.wholeCost(charge) ?? end];
      });
  }

  /** Whether the departure slots of a decision may be refunded or settled: true for the first who asks. */
  claimSlots(decision: Decision): boolean {
    if (this.slots.has(decision)) return false;
    this.slots.add(decision);
    return true;
  }

  /**
   * Never rejects: nobody waits for it.
   *
   * @param costsOf a charge's end of the whole cost, and the whole cost of all steps
   */
  private async settle(
    decision: Decision,
    outcome: Outcome,
    costsOf: (charge: PolicyCharge) => readonly [end: number, total: number],
  ): Promise<void> {
    const reserved = new ReservedCharges(decision, this.gateway, this.fallback);
    const found = await Promise.all(
      reserved.charges.map(async (charge) => {
        const [end, total] = costsOf(charge);
        return partOf(await this.finalCost(charge, outcome), charge.cost, end, total);
      }),
    );
    const changed = reserved.charges.some(({ algorithm, cost }, i) => algorithm.delays && found[i] !== cost);
    const refunded = changed && !this.claimSlots(decision);
    const costs = reserved.charges.map(({ algorithm, cost }, i) => (refunded && algorithm.delays ? cost : found[i]!));
    try {
      reserved.checkEach(costs);
    } catch (error) {
      const names = reserved.charges.map(({ policy }) => `'${policy.name}'`).join(', ');
      this.functions.failed('settle', `policies ${names} were not settled, and their charges stay`, error);
      return;
    }
    await reserved.settleEach(costs);
  }

  /** The cost of the whole request; undefined: what was charged, as a function that fails leaves it. */
  private finalCost({ policy }: PolicyCharge, outcome: Outcome): Promise<number | undefined> {
    const { name, countIf, settle } = policy;
    const otherwise = (): undefined => undefined;
    if (countIf !== undefined) {
      const counts = async (): Promise<number | undefined> => (boolean(await countIf(outcome)) ? undefined : 0);
      return this.functions.call<number | undefined>(
        'countIf',
        `countIf of policy '${name}' failed, the request counts`,
        counts,
        otherwise,
      );
    }
    if (settle === undefined) return Promise.resolve(undefined);
    const settles = async (): Promise<number> => whole(await settle(outcome));
    return this.functions.call<number | undefined>(
      'settle',
      `settle of policy '${name}' failed, its cost stays`,
      settles,
      otherwise,
    );
  }
}

/**
 * The part of a request's final cost that one of its steps settles. The middleware and the route may charge one policy: the route
 * the difference. Together they settle the final cost once, and the last step what exceeds all of them.
 *
 * @param final undefined: what was charged
 * @param charged by the step
 * @param end of the whole cost, with that of the step
 * @param total cost of all steps
 */
function partOf(final: number | undefined, charged: number, end: number, total: number): number {
  if (final === undefined) return charged;
  const part = Math.max(0, final - (end - charged));
  return end < total ? Math.min(part, charged) : part;
}

function boolean(returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned;
  throw new TypeError(`it must return true or false, got ${shown(returned)}`);
}

function whole(returned: unknown): number {
  if (Number.isSafeInteger(returned) && (returned as number) >= 0) return returned as number;
  throw new TypeError(`it must return a whole number from 0, got ${shown(returned)}`);
}
