import type { Decision, PolicyDecision } from '../policy/decision.js';
import { chargeOfDecision, countedDown } from './judged-policy.js';
import { LimiterUnavailableError } from './errors.js';
import { Execution } from './execution.js';
import { Outcomes } from './outcomes.js';
import type { PolicyCharge } from './policy-charge.js';

const RECORD = Symbol('rate limit');

interface RecordedRequest {
  [RECORD]?: RequestRecord;
}

/** What a step of a request has yet to charge. */
export interface Remainder {
  /** The difference in cost where the same policy has charged the request before. */
  readonly charges: readonly PolicyCharge[];
  /** The same charges with their whole cost. */
  readonly whole: readonly PolicyCharge[];
  /** Whether one of them is a difference. */
  readonly hasDifference: boolean;
}

/**
 * What one request was charged so far, and what its policies have said. The middleware and the guard share it, and so do the
 * handlers of one operation, which run side by side: each policy decides once. A guard that is bound twice counts a request
 * once. It is kept on the request: a WeakSet of all requests is a burden to the garbage collector.
 */
export class RequestRecord {
  private readonly outcomes = new Outcomes();
  /** By key: the decisions that are under way. Each settles once its outcome is noted, and never rejects. */
  private readonly deciding: Map<string, Promise<void>> | undefined;
  private policies: readonly PolicyDecision[] = [];
  private decidedAtMs = 0;
  private guarded = false;
  /** What the module's lists said of the address, where the middleware has asked them. */
  listed: 'allow' | 'block' | 'neither' | undefined;

  /**
   * @param sideBySide whether several steps of the request may be decided at once, such as the fields of an operation
   * @param execution what the request is a part of; default its own
   */
  constructor(
    sideBySide = false,
    private whole?: Execution,
  ) {
    if (sideBySide) this.deciding = new Map();
  }

  get execution(): Execution {
    return (this.whole ??= new Execution());
  }

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

  /** A decision under way on one of the charges: its outcome may settle theirs. */
  underWay(charges: readonly PolicyCharge[]): Promise<void> | undefined {
    if (this.deciding === undefined || this.deciding.size === 0) return undefined;
    for (const { key } of charges) {
      const deciding = this.deciding.get(key);
      if (deciding !== undefined) return deciding;
    }
    return undefined;
  }

  /** @param concluded a decision on the charges, once its outcome is noted */
  decides(charges: readonly PolicyCharge[], concluded: Promise<unknown>): void {
    const { deciding } = this;
    if (deciding === undefined) return;
    const end = (): void => charges.forEach(({ key }) => deciding.delete(key));
    const ended = concluded.then(end, end);
    for (const { key } of charges) deciding.set(key, ended);
  }

  /** The rejection that a step has to get, because the same policies have rejected the request before. */
  rejection(charges: readonly PolicyCharge[]): Decision | undefined {
    return this.outcomes.rejection(charges);
  }

  /** The failure that a step has to get, because the same policies could not be decided without the store before. */
  failure(charges: readonly PolicyCharge[]): LimiterUnavailableError | undefined {
    return this.outcomes.failure(charges);
  }

  /**
   * What a step has yet to charge: the difference in cost where the same policy has charged the request before, all of the
   * cost elsewhere.
   */
  remainder(charges: readonly PolicyCharge[]): Remainder {
    if (this.outcomes.empty) return { charges, whole: charges, hasDifference: false };
    const left: PolicyCharge[] = [];
    const whole: PolicyCharge[] = [];
    let hasDifference = false;
    for (const charge of charges) {
      const before = this.costBefore(charge);
      if (before !== undefined && charge.cost <= before) continue;
      hasDifference ||= before !== undefined && before > 0;
      left.push(before === undefined ? charge : { ...charge, cost: charge.cost - before });
      whole.push(charge);
    }
    return { charges: left, whole, hasDifference };
  }

  /** The waits for departure slots of the charges that were made before. */
  departures(charges: readonly PolicyCharge[]): Promise<void>[] {
    if (this.outcomes.empty) return [];
    return charges.flatMap((charge) => this.outcomes.passed(charge)?.departure ?? []);
  }

  /**
   * Notes what the policies have said.
   *
   * @param charges those of the decision, with their whole cost
   */
  decided(charges: readonly PolicyCharge[], decision: Decision): void {
    for (const charge of charges) {
      // Policies that let the request pass uncounted are missing in the decision.
      const all = charge.shadow ? (decision.shadow ?? []) : decision.policies;
      // By name: an override's numbers can be part of the key that was charged. No two policies of a decision have one name.
      const said = all.find(({ policy }) => policy === charge.policy.name);
      if (decision.allowed) {
        const algorithm = said && chargeOfDecision(said)?.policy.algorithm;
        // A shadow that the request does not fit has said so: a dearer step does not ask it again.
        const asked = said !== undefined && (said.allowed || !charge.shadow);
        this.outcomes.notePassed(charge, asked ? decision.decidedBy : 'open', algorithm);
      } else if (said?.allowed === false && !charge.shadow) this.outcomes.noteRejected(charge, said, decision);
    }
  }

  /** The cost that a policy has charged in all steps so far; undefined where it was not asked. */
  wholeCost(charge: PolicyCharge): number | undefined {
    return this.outcomes.passed(charge)?.charge.cost;
  }

  /** Notes that the charges wait for their departure slot. */
  departs(charges: readonly PolicyCharge[], departure: Promise<void>): void {
    for (const charge of charges) {
      const passed = charge.algorithm.delays ? this.outcomes.passed(charge) : undefined;
      if (passed !== undefined) passed.departure = departure;
    }
  }

  /** Notes that the charges could not be decided. */
  failed(charges: readonly PolicyCharge[], error: unknown): void {
    if (error instanceof LimiterUnavailableError) this.outcomes.noteFailed(charges, error);
  }

  /** The decision together with the earlier ones, which count down since. */
  withEarlier(decision: Decision): Decision {
    const now = performance.now();
    if (this.policies.length === 0) {
      this.policies = decision.policies;
      this.decidedAtMs = now;
      return decision;
    }
    const passedMs = now - this.decidedAtMs;
    const said = new Set(decision.policies.map(stateOf));
    const earlier = this.policies.filter((one) => !said.has(stateOf(one))).map((one) => countedDown(one, passedMs));
    const policies = [...earlier, ...decision.policies];
    this.policies = policies;
    this.decidedAtMs = now;
    return { ...decision, policies };
  }

  /** The cost that the same policy has charged under the same key; undefined where it has not been asked. */
  private costBefore(charge: PolicyCharge): number | undefined {
    const passed = this.outcomes.passed(charge);
    // A cost that never fits has to be rejected for good, which only all of it is.
    if (charge.cost > (passed?.maxCost ?? 0)) return undefined;
    // Where the store is not needed for one cost, it is not for a larger one.
    return passed?.decidedBy === 'open' ? charge.cost : passed?.charge.cost;
  }
}

/** What two decisions on one policy and identity have in common. */
function stateOf(decision: PolicyDecision): string {
  return chargeOfDecision(decision)?.key ?? decision.policy;
}

const GUARDED = RequestRecord.guardedOnce();
