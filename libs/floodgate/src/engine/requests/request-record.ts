import type { Decision } from '../../policy/decision.js';
import { LimiterUnavailableError } from '../../charges/errors.js';
import { Execution } from '../../charges/execution.js';
import type { Judgement } from '../../charges/judgement.js';
import { ChargeHistory } from './charge-history.js';
import { RECORD, type RecordedRequest } from './recorded-request.js';
import { PendingCharge } from '../../holds/pending/pending-charge.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';

/**
 * The charges and decisions of one request so far. Its middleware, the guards of its handlers and the parallel handlers of one
 * operation share it, so that each policy decides once. It is kept on the request: a WeakSet of all requests is a burden to the
 * garbage collector.
 *
 * Most requests pass one guard: decisions are sorted by key only when a second guard asks.
 */
export class RequestRecord extends Execution {
  /** The charges of the first step. */
  private firstCharges: readonly PolicyCharge[] | undefined;
  private first: Judgement | undefined;
  private sorted: ChargeHistory | undefined;
  /** The decisions under way, by key. Each promise settles once its outcome is noted, and never rejects. */
  private readonly deciding: Map<string, Promise<void>> | undefined;
  private shown: Judgement | undefined;
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

  /** The charge's part of the request that is not final yet; undefined without one, and once it is settled. */
  pendingOf(charge: PolicyCharge): PendingCharge | undefined {
    return this.pendingCharges?.find((pending) => pending.isOf(charge) && !pending.isSettled);
  }

  /** The charge's part of the request that is not final yet. Makes a new one if there is none. */
  pending(charge: PolicyCharge): PendingCharge {
    const known = this.pendingOf(charge);
    if (known !== undefined) return known;
    const pending = new PendingCharge(charge);
    this.pendingCharges = [...(this.pendingCharges ?? []).filter((one) => !one.isOf(charge)), pending];
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
    const end = (): void =>
      charges.forEach(({ key }) => {
        // A later decision on the same policy may be under way.
        if (deciding.get(key) === ended) deciding.delete(key);
      });
    const ended: Promise<void> = concluded.then(end, end);
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

  /** The charges that a step still has to make: those that no step before it has made. One that was settled since is made anew. */
  left(charges: readonly PolicyCharge[]): readonly PolicyCharge[] {
    return charges.filter((charge) => {
      if (this.history.passed(charge) === undefined) return true;
      const isOver = this.pendingCharges?.some((pending) => pending.isOf(charge)) === true;
      return isOver && this.pendingOf(charge) === undefined;
    });
  }

  /** The waits for departure slots of the charges that were made before. */
  departures(charges: readonly PolicyCharge[]): Promise<void>[] {
    return charges.flatMap((charge) => this.history.passed(charge)?.departure ?? []);
  }

  /** Notes what the policies have said. */
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
        // A shadow that the request does not fit is not asked again.
        const wasAsked = judged !== undefined && (judged.verdict.allowed || !charge.shadow);
        const decidedBy = wasAsked ? decision.decidedBy : 'open';
        history.notePassed(charge, decidedBy, judgement, i);
      } else if (judged?.verdict.allowed === false && !charge.shadow) history.noteRejected(charge, judged, decision);
    }
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
    this.shown = this.shown === undefined ? judgement : judgement.after(this.shown);
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
}
