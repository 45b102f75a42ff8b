import type { Decision, PolicyDecision } from '../policy/decision.js';
import { sameMeaning } from '../policy/meanings.js';
import { peekOf } from '../stores/charge.js';
import { countedDown } from './charged-decision.js';
import type { PolicyCharge } from './policy-charge.js';

const RECORD = Symbol('rate limit');

interface RecordedRequest {
  [RECORD]?: RequestRecord;
}

/** A charge that was made for a request. */
interface Taken {
  readonly charge: PolicyCharge;
  readonly decidedBy: Decision['decidedBy'];
}

/** What a step of a request has yet to charge. */
export interface Remainder {
  readonly charges: readonly PolicyCharge[];
  /**
   * The same charges with their whole cost, as peeks; undefined where no charge is a difference. A retry is charged by the
   * middleware first, so a rejected difference alone would name an instant that is too early.
   */
  readonly wholeCost: readonly PolicyCharge[] | undefined;
}

/**
 * What one request was charged so far. The middleware and the guard share it, and a guard that is bound twice counts a
 * request once. It is kept on the request: a WeakSet of all requests is a burden to the garbage collector.
 */
export class RequestRecord {
  /** By key. */
  private readonly taken = new Map<string, Taken>();
  private policies: readonly PolicyDecision[] = [];
  private decidedAtMs = 0;
  /** The policies of this step that charge a difference. */
  private readonly differences = new Set<string>();
  private guarded = false;
  /** What the module's lists said of the address, where the middleware has asked them. */
  listed: 'allow' | 'block' | 'neither' | undefined;

  /** Begins the record of a request that the middleware limits. A request that is dispatched again keeps its record. */
  static begin(request: object): RequestRecord {
    const known = (request as RecordedRequest)[RECORD];
    if (known !== undefined && known !== GUARDED) return known;
    const record = known === undefined ? new RequestRecord() : RequestRecord.guardedOnce();
    return ((request as RecordedRequest)[RECORD] = record);
  }

  /** The record of a request that the middleware has limited. */
  static of(request: object): RequestRecord | undefined {
    const record = (request as RecordedRequest)[RECORD];
    return record === GUARDED ? undefined : record;
  }

  /** Whether a guard sees the request for the first time. */
  static firstGuard(request: object): boolean {
    const record = (request as RecordedRequest)[RECORD];
    if (record === undefined) (request as RecordedRequest)[RECORD] = GUARDED;
    else if (record.guarded) return false;
    else record.guarded = true;
    return true;
  }

  /** One object for all requests that no middleware limits. */
  static guardedOnce(): RequestRecord {
    const record = new RequestRecord();
    record.guarded = true;
    return record;
  }

  /**
   * What a step has yet to charge: the difference in cost where the same policy has charged the request before, all of the
   * cost elsewhere. Equal keys alone do not prove the same policy: a window's key does not carry its limit.
   */
  remainder(charges: readonly PolicyCharge[]): Remainder {
    if (this.taken.size === 0) return { charges, wholeCost: undefined };
    const left: PolicyCharge[] = [];
    const whole: PolicyCharge[] = [];
    for (const charge of charges) {
      const before = this.costBefore(charge);
      if (before > 0 && charge.cost <= before) continue;
      if (before > 0) this.differences.add(charge.policy.name);
      left.push(before === 0 ? charge : { ...charge, cost: charge.cost - before });
      whole.push(peekOf(charge));
    }
    return { charges: left, wholeCost: this.differences.size > 0 ? whole : undefined };
  }

  /** Notes what an allowed request was charged. Policies that let it pass uncounted are missing in the decision. */
  charged(charges: readonly PolicyCharge[], { decidedBy, policies, shadow = [] }: Decision): void {
    for (const charge of charges) {
      const { key, cost, policy } = charge;
      // A shadow that did not fit is noted as well: it has had its say on this request.
      if (cost > 0 && (charge.shadow ? shadow : policies).some(({ policy: name }) => name === policy.name)) {
        this.taken.set(key, { charge, decidedBy });
      }
    }
  }

  /** The decision together with those of the earlier step, which count down since. */
  withEarlier(decision: Decision): Decision {
    const now = performance.now();
    const passed = now - this.decidedAtMs;
    // A policy that charged a difference has said more than before.
    const earlier = this.policies
      .filter(({ policy }) => !this.differences.has(policy))
      .map((policy) => countedDown(policy, Math.max(0, policy.resetAfterMs - passed)));
    const policies = [...earlier, ...decision.policies];
    this.policies = policies;
    this.decidedAtMs = now;
    return { ...decision, policies };
  }

  /** The cost that the same policy has charged under the same key. */
  private costBefore({ key, cost, policy }: PolicyCharge): number {
    const taken = this.taken.get(key);
    if (taken === undefined || !sameMeaning(taken.charge.policy, policy)) return 0;
    // A policy that wants a 503 without the store is not satisfied by what this process let pass by itself.
    const { policy: earlier } = taken.charge;
    if (taken.decidedBy !== 'store' && earlier.onStoreFailure !== policy.onStoreFailure) return 0;
    // A cost that never fits has to be rejected for good, which only all of it is.
    return cost > policy.algorithm.maxCost ? 0 : taken.charge.cost;
  }
}

const GUARDED = RequestRecord.guardedOnce();
