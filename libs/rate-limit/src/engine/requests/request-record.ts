import type { Decision } from '../../policy/decision.js';
import { askedCost } from '../../stores/charge.js';
import type { Answer } from '../../util/answer.js';
import { LimiterUnavailableError } from '../errors.js';
import { Execution } from '../execution.js';
import type { Judgement, Receipt } from '../judgement.js';
import { ChargeHistory, type Passed } from './charge-history.js';
import { RECORD, type RecordedRequest } from './recorded-request.js';
import { PendingCharge } from '../settling/pending-charge.js';
import type { PolicyCharge } from '../policy-charge.js';

/** The charges that a step of a request still has to make. */
export interface Remainder {
  /** The difference in cost where the same policy has charged the request before. */
  readonly charges: readonly PolicyCharge[];
  /** The charges with their whole cost. */
  readonly whole: readonly PolicyCharge[];
  /** Whether one of them is a difference. */
  readonly hasDifference: boolean;
}

/** What a request gets back of its charges. */
export interface Unclaimed {
  readonly receipts: readonly Receipt[];
  /** Those that are not final. */
  readonly pending: readonly PendingCharge[];
}

const NOTHING_UNCLAIMED: Unclaimed = { receipts: [], pending: [] };

/** Whether a request gets back a charge where the step that follows is another policy's. */
function isUnclaimed(passed: Passed, { shadow }: PolicyCharge): boolean {
  return passed.isUnclaimed && !passed.ranOver && !shadow;
}

/**
 * The charges and decisions of one request so far. Its middleware, the guards of its handlers and the parallel handlers of one
 * operation share it, so that each policy decides once. It is kept on the request: a WeakSet of all requests is a burden to the
 * garbage collector.
 *
 * Most requests pass one guard: decisions are sorted by key only when a second guard asks.
 */
export class RequestRecord extends Execution {
  /** The charges of the first step, with the whole cost. */
  private firstCharges: readonly PolicyCharge[] | undefined;
  private first: Judgement | undefined;
  private sorted: ChargeHistory | undefined;
  /** The decisions under way, by key. Each promise settles once its outcome is noted, and never rejects. */
  private readonly deciding: Map<string, Promise<void>> | undefined;
  private shown: Judgement | undefined;
  /** The keys of charges that the request got back since: `shown` still has them. */
  private returned: Set<string> | undefined;
  /** By which the request has passed before its route was known. */
  private beforeRouting: Judgement | undefined;
  private pendingCharges: PendingCharge[] | undefined;
  /** The handlers whose guard the request has passed. Most requests have one. */
  private handler: object | undefined;
  private others: Set<object> | undefined;
  /** Whether the address is in the module's allow list or block list. */
  listed: 'allow' | 'block' | 'neither' | undefined;
  /** Whether the process rejects the request to shed load, by its classes; undefined before it was asked. */
  private shed: Map<string, boolean> | undefined;

  /**
   * @param sideBySide whether several steps of the request may be decided at once, such as the fields of an operation
   * @param whole the execution that the request is a part of; default the request itself
   */
  constructor(
    sideBySide = false,
    private readonly whole?: Execution,
  ) {
    super();
    this.deciding = sideBySide ? new Map() : undefined;
  }

  get execution(): Execution {
    return this.whole ?? this;
  }

  /** The record of a request. A request that is dispatched again keeps its record. */
  static of(request: object): RequestRecord {
    return ((request as RecordedRequest<RequestRecord>)[RECORD] ??= new RequestRecord());
  }

  /**
   * Whether the request passes a guard of this handler for the first time. A guard that is bound twice counts a request once. A
   * handler that calls `next()` does not exempt the handler after it.
   *
   * @param handler identifies the handler and its class
   */
  isFirstGuard(handler: object): boolean {
    if (this.handler === undefined) {
      this.handler = handler;
      return true;
    }
    if (this.handler === handler || this.others?.has(handler) === true) return false;
    (this.others ??= new Set()).add(handler);
    return true;
  }

  /**
   * Whether the process rejects the request to shed load. Steps of one class share the answer: the part of the class that is
   * rejected would else grow with the steps.
   */
  isShed(priority: string, ask: (priority: string) => boolean): boolean {
    const known = this.shed?.get(priority);
    if (known !== undefined) return known;
    const rejected = ask(priority);
    (this.shed ??= new Map()).set(priority, rejected);
    return rejected;
  }

  /** Whether no policy has decided so far, and no decision is under way. */
  get isFresh(): boolean {
    return this.isBlank && (this.deciding === undefined || this.deciding.size === 0);
  }

  private get isBlank(): boolean {
    return this.firstCharges === undefined && this.sorted === undefined;
  }

  private get history(): ChargeHistory {
    if (this.sorted !== undefined) return this.sorted;
    this.sorted = new ChargeHistory();
    if (this.firstCharges !== undefined) this.note(this.firstCharges, this.first!);
    return this.sorted;
  }

  /** The policy's charge on the request that is pending or was settled; undefined without one. */
  pendingOf(charge: PolicyCharge): PendingCharge | undefined {
    return this.pendingCharges?.find((pending) => pending.isOf(charge));
  }

  /** The policy's pending charge on the request. Makes a new one if there is none, or the last one was settled. */
  pending(charge: PolicyCharge): PendingCharge {
    const known = this.pendingOf(charge);
    if (known !== undefined && known.finalCost === undefined) return known;
    const pending = new PendingCharge(charge, known);
    const others = this.pendingCharges?.filter((one) => one !== known);
    this.pendingCharges = others === undefined ? [pending] : [...others, pending];
    return pending;
  }

  /** The decision under way on one of the charges, if any: its outcome may apply to them. */
  underWay(charges: readonly PolicyCharge[]): Promise<void> | undefined {
    if (this.deciding === undefined || this.deciding.size === 0) return undefined;
    for (const { key } of charges) {
      const deciding = this.deciding.get(key);
      if (deciding !== undefined) return deciding;
    }
    return undefined;
  }

  /** @param concluded settles once a decision on the charges is noted */
  decides(charges: readonly PolicyCharge[], concluded: Promise<unknown>): void {
    const { deciding } = this;
    if (deciding === undefined) return;
    const end = (): void => charges.forEach(({ key }) => deciding.delete(key));
    const ended = concluded.then(end, end);
    for (const { key } of charges) deciding.set(key, ended);
  }

  /** The rejection that a step has to get, because the same policies have rejected the request before. */
  rejection(charges: readonly PolicyCharge[]): Decision | undefined {
    return this.history.rejection(charges);
  }

  /** The failure that a step has to get, because the store could not decide the same policies before. */
  failure(charges: readonly PolicyCharge[]): LimiterUnavailableError | undefined {
    return this.history.failure(charges);
  }

  /**
   * The charges that a step still has to make: the difference in cost where the same policy has charged the request before, the
   * whole cost otherwise.
   *
   * @param isBeforeRouting whether the step is the middleware's, which comes again where a request is dispatched again
   */
  remainder(charges: readonly PolicyCharge[], isBeforeRouting: boolean): Remainder {
    const left: PolicyCharge[] = [];
    const whole: PolicyCharge[] = [];
    let hasDifference = false;
    for (const charge of charges) {
      const before = this.costBefore(charge);
      const further = before === undefined ? charge : this.further(charge, before);
      if (further === undefined) {
        const passed = this.history.passed(charge);
        if (passed !== undefined && !isBeforeRouting) passed.isUnclaimed = false;
        continue;
      }
      hasDifference ||= before !== undefined && before > 0;
      left.push(further);
      whole.push(charge);
    }
    return { charges: left, whole, hasDifference };
  }

  /** The waits for departure slots of the charges that were made before. */
  departures(charges: readonly PolicyCharge[]): Promise<void>[] {
    return charges.flatMap((charge) => this.history.passed(charge)?.departure ?? []);
  }

  /**
   * Notes what the policies have said.
   *
   * @param charges those that were judged, with their whole cost
   */
  decided(charges: readonly PolicyCharge[], judgement: Judgement): void {
    // A rejection is valid for a time that begins now: it is sorted at once.
    if (this.isBlank && judgement.decision.allowed) {
      this.firstCharges = charges;
      this.first = judgement;
    } else this.note(charges, judgement);
  }

  private note(charges: readonly PolicyCharge[], judgement: Judgement): void {
    const { history } = this;
    const { decision } = judgement;
    for (const [i, charge] of charges.entries()) {
      const judged = judgement.at(i);
      if (decision.allowed) {
        // A shadow that the request does not fit is not asked again by a step of higher cost.
        const wasAsked = judged !== undefined && (judged.verdict.allowed || !charge.shadow);
        const decidedBy = wasAsked ? decision.decidedBy : 'open';
        history.notePassed(charge, decidedBy, judgement, i, judgement === this.beforeRouting);
      } else if (judged?.verdict.allowed === false && !charge.shadow) history.noteRejected(charge, judged, decision);
    }
  }

  /** Notes that the request has passed before its route was known, for `decided`. */
  passedBeforeRouting(judgement: Judgement): void {
    this.beforeRouting = judgement;
  }

  /**
   * The charges that were made before the route was known, and that its step does not stand on: the part of its class is full, or
   * another policy takes the request whole, by `else`. The record forgets them. A policy that has admitted another step of the
   * request keeps its charge.
   *
   * @param charges those of the step, with their whole cost
   * @param judgement on them, which is not noted yet
   */
  unclaimed(charges: readonly PolicyCharge[], judgement: Judgement): Unclaimed {
    if (this.beforeRouting === undefined) return NOTHING_UNCLAIMED;
    const pending: PendingCharge[] = [];
    const receipts = charges.flatMap((charge, i) => {
      const passed = this.history.passed(charge);
      if (passed === undefined || !isUnclaimed(passed, charge)) return [];
      // The policy that took the request may have an override that exempts the client, and no verdict then.
      const ranOver = judgement.charges[i]!.insteadOf !== undefined;
      if (!ranOver && judgement.at(i)?.verdict.allowed !== false) return [];
      const its = this.pendingOf(charge);
      // A rejected step of a higher cost has asked for the difference alone, and pending charges are settled with the request.
      if (!judgement.decision.allowed && (charge.cost > passed.charge.cost || its !== undefined)) return [];
      this.history.forget(passed);
      (this.returned ??= new Set()).add(charge.key);
      if (its === undefined) return passed.judgement.receipts.filter(({ index }) => index === passed.index);
      this.pendingCharges = this.pendingCharges!.filter((one) => one !== its);
      pending.push(its);
      return [];
    });
    return { receipts, pending };
  }

  /** Notes that the charges wait for their departure slot. */
  departs(charges: readonly PolicyCharge[], departure: Promise<void>): void {
    for (const charge of charges) {
      const passed = charge.algorithm.delays ? this.history.passed(charge) : undefined;
      if (passed !== undefined) passed.departure = departure;
    }
  }

  /** Notes that the charges could not be decided. */
  failed(charges: readonly PolicyCharge[], error: unknown): void {
    if (error instanceof LimiterUnavailableError) this.history.noteFailed(charges, error);
  }

  /** The decision together with the earlier ones, counted down to now. */
  withEarlier(judgement: Judgement): Decision {
    this.shown = this.shown === undefined ? judgement : judgement.after(this.shown, this.returned);
    this.returned = undefined;
    return this.shown.decision;
  }

  /**
   * The decision by which the request has passed; undefined if no policy has let it pass. A request of several steps gets one
   * decision, counted down to its last step.
   *
   * @param charges those whose policies count; default all
   */
  passedBy(charges?: readonly PolicyCharge[]): Decision | undefined {
    if (this.isBlank) return undefined;
    // Most requests have one step, and its decision is at hand.
    if (this.sorted === undefined && (charges ?? this.firstCharges) === this.firstCharges) return this.first!.decision;
    return this.history.passedBy(charges);
  }

  /**
   * What is left of a charge whose policy has charged the request before: the difference in cost, or nothing but the question
   * whether the part of a lower class has room for the request. Undefined if neither is left.
   *
   * @param before the cost that was charged
   */
  private further(charge: PolicyCharge, before: number): PolicyCharge | undefined {
    const { cost, headroom, instead } = charge;
    const passed = this.history.passed(charge);
    const other = instead && ((): Answer<PolicyCharge> => instead(charge));
    if (cost > before) {
      const whole = passed !== undefined && isUnclaimed(passed, charge);
      return { ...charge, cost: cost - before, ...(whole && { instead: other }) };
    }
    const asks = askedCost(charge);
    if (passed === undefined || passed.decidedBy === 'open' || asks <= Math.max(passed.asked, before)) return undefined;
    // It has run over to another policy, as a request of a lower class does.
    if (passed.ranOver) return undefined;
    // A charge of cost 0 asks whether cost 1 would fit.
    const left = asks - before - 1;
    return { ...charge, cost: 0, mode: 'take', headroom: left, spared: headroom - left, instead: other };
  }

  /** The cost that the same policy has charged under the same key; undefined where it has not been asked. */
  private costBefore(charge: PolicyCharge): number | undefined {
    const passed = this.history.passed(charge);
    const pending = this.pendingOf(charge);
    // A cost that never fits is charged whole, so that its rejection is final.
    if (charge.cost > (passed?.maxCost ?? 0)) return undefined;
    // A policy that passes one cost without the store passes a larger one, too.
    if (passed?.decidedBy === 'open') return charge.cost;
    // A settled charge counts at its final cost, so the step charges the rest.
    if (pending === undefined || pending.leases.length > 0) return pending?.finalCost ?? passed?.charge.cost;
    return pending.finalCost ?? pending.total;
  }
}
