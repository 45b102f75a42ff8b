import type { HandlerContext } from '../metrics/decision-event.js';
import type { Decision } from '../policy/decision.js';
import { peekOf } from '../stores/charge.js';
import { isPromise } from '../util/is-promise.js';
import type { OutcomeListener } from './outcome.js';
import type { HeldLeases, Leases } from './leases.js';
import type { Limiter } from './limiter.js';
import type { PolicyCharge } from './policy-charge.js';
import type { RouteSettlements } from './route-settlements.js';
import type { Remainder, RequestRecord } from './request-record.js';
import type { Closable, WaitingRoom } from './waiting-room.js';

/** How a request's framework answers it. */
export interface Transport<Context> {
  /** Sets the headers of an allowed or a rejected request. */
  decided(context: Context, decision: Decision): void;
  /** Answers a rejected request, by throwing. */
  reject(context: Context, decision: Decision): boolean | Promise<boolean>;
  /** Answers a request that the limiter could not decide on, or not keep waiting, by throwing. */
  failed(context: Context, error: unknown): never;
  /** Tells once how an allowed request ends. Called for requests that hold leases, or are settled. */
  outcome(context: Context, listener: OutcomeListener): void;
  /** What closes when the client no longer waits for the answer. */
  closables(context: Context): readonly Closable[];
}

/**
 * The way of one request from its charges to its answer: it reserves a place in the waiting room, asks the limiter, sets
 * headers, and waits for a departure slot. What needs no waiting is not awaited: every request would pay for the promise.
 */
export class Admission<Context extends HandlerContext> {
  constructor(
    private readonly limiter: Limiter,
    private readonly waitingRoom: WaitingRoom,
    private readonly transport: Transport<Context>,
    private readonly leases: Leases,
    private readonly settlements: RouteSettlements,
  ) {}

  /**
   * @param record what the request was charged before; undefined where it passes the limiter once
   * @throws what the transport throws
   */
  admit(
    context: Context,
    charges: readonly PolicyCharge[],
    record: RequestRecord | undefined,
  ): boolean | Promise<boolean> {
    return record === undefined
      ? this.queue(context, charges, undefined, undefined)
      : this.admitRest(context, charges, record);
  }

  /** Admits a step of a request by what its policies have said before, and asks those that have not been asked. */
  private admitRest(
    context: Context,
    charges: readonly PolicyCharge[],
    record: RequestRecord,
  ): boolean | Promise<boolean> {
    const underWay = record.underWay(charges);
    if (underWay !== undefined) return underWay.then(() => this.admitRest(context, charges, record));
    const rejection = record.rejection(charges);
    if (rejection !== undefined) return this.transport.reject(context, rejection);
    const failure = record.failure(charges);
    if (failure !== undefined) return this.transport.failed(context, failure);
    const remainder = record.remainder(charges);
    const departures = record.departures(charges);
    const answer = remainder.charges.length === 0 || this.queue(context, remainder.charges, record, remainder);
    if (departures.length === 0) return answer;
    const departed = Promise.all(departures).catch((error: unknown) => this.transport.failed(context, error));
    return Promise.all([answer, departed]).then(([admitted]) => admitted);
  }

  /** Reserves a place before the store charges a request that may have to wait, and releases it at the end. */
  private queue(
    context: Context,
    charges: readonly PolicyCharge[],
    record: RequestRecord | undefined,
    remainder: Remainder | undefined,
  ): boolean | Promise<boolean> {
    let queued: PolicyCharge | undefined;
    for (let i = 0; i < charges.length && queued === undefined; i++) {
      if (charges[i]!.algorithm.delays && !charges[i]!.shadow) queued = charges[i];
    }
    if (queued === undefined) return this.decide(context, charges, record, remainder);
    const { waitingRoom } = this;
    const client = queued.global === true ? undefined : queued.identity;
    try {
      waitingRoom.reserve(client);
    } catch (error) {
      return this.transport.failed(context, error);
    }
    let answer: boolean | Promise<boolean> | undefined;
    try {
      answer = this.decide(context, charges, record, remainder);
    } finally {
      if (!isPromise(answer)) waitingRoom.release(client);
    }
    return isPromise(answer) ? answer.finally(() => waitingRoom.release(client)) : answer;
  }

  private decide(
    context: Context,
    charges: readonly PolicyCharge[],
    record: RequestRecord | undefined,
    remainder: Remainder | undefined,
  ): boolean | Promise<boolean> {
    let decision: Decision | Promise<Decision>;
    try {
      decision = this.ask(context, charges, record, remainder);
    } catch (error) {
      return this.fail(context, charges, error, record);
    }
    if (!isPromise(decision)) return this.conclude(context, charges, decision, record, remainder);
    const answer = decision.then(
      (later) => this.conclude(context, charges, later, record, remainder),
      (error: unknown) => this.fail(context, charges, error, record),
    );
    // After the outcome is noted, and before the wait for a departure slot.
    record?.decides(charges, decision);
    return answer;
  }

  private ask(
    context: Context,
    charges: readonly PolicyCharge[],
    record: RequestRecord | undefined,
    remainder: Remainder | undefined,
  ): Decision | Promise<Decision> {
    const decision = this.limiter.decide(charges, context, record?.execution);
    if (remainder?.hasDifference !== true) return decision;
    return isPromise(decision)
      ? decision.then((later) => this.forWholeCost(later, remainder, record))
      : this.forWholeCost(decision, remainder, record);
  }

  private conclude(
    context: Context,
    charges: readonly PolicyCharge[],
    decision: Decision,
    record: RequestRecord | undefined,
    remainder: Remainder | undefined,
  ): boolean | Promise<boolean> {
    const whole = remainder?.whole ?? charges;
    record?.decided(whole, decision);
    const { allowed, delayMs } = decision;
    const leases = allowed ? this.hold(context, charges, decision, record) : undefined;
    // None where all policies are 'open' without the store, or in shadow: there is nothing to say.
    if (decision.policies.length > 0) this.transport.decided(context, record?.withEarlier(decision) ?? decision);
    if (!allowed) return this.transport.reject(context, decision);
    return delayMs === 0 || this.wait(context, whole, decision, record, leases);
  }

  /** Releases the leases of a request when it has ended, and settles what it has cost. */
  private hold(
    context: Context,
    charges: readonly PolicyCharge[],
    decision: Decision,
    record: RequestRecord | undefined,
  ): HeldLeases | undefined {
    const leases = this.leases.of(charges, decision);
    const settle = this.settlements.of(charges, decision, record);
    if (leases !== undefined) this.transport.outcome(context, { began: leases.keep, ended: leases.release });
    if (settle !== undefined) this.transport.outcome(context, { ended: settle });
    return leases;
  }

  private fail(
    context: Context,
    charges: readonly PolicyCharge[],
    error: unknown,
    record: RequestRecord | undefined,
  ): never {
    record?.failed(charges, error);
    return this.transport.failed(context, error);
  }

  /**
   * The decision on a request that lacks a difference in cost. A rejection gets the `retryAfterMs` of the whole cost: a retry is
   * charged by the middleware first, so that of the difference alone would be too early.
   */
  private forWholeCost(
    decision: Decision,
    { whole }: Remainder,
    record: RequestRecord | undefined,
  ): Decision | Promise<Decision> {
    if (decision.allowed || decision.decidedBy !== 'store') return decision;
    const peeks = whole.map((charge) => peekOf(charge));
    const refined = (peeked: Decision): Decision =>
      peeked.decidedBy === 'store' ? rejectedBy(decision, peeked) : decision;
    // Where the store has just become unavailable, its earlier answer is the best there is.
    try {
      const peeked = this.limiter.decide(peeks, undefined, record?.execution);
      return isPromise(peeked) ? peeked.then(refined, () => decision) : refined(peeked);
    } catch {
      return decision;
    }
  }

  /**
   * A request that leaves the queue frees its departure slot if no request stands behind it. Its other charges stay: asking
   * and hanging up is not free.
   */
  private async wait(
    context: Context,
    charges: readonly PolicyCharge[],
    decision: Decision,
    record: RequestRecord | undefined,
    leases: HeldLeases | undefined,
  ): Promise<boolean> {
    try {
      const departure = this.waitingRoom.wait(decision.delayMs, this.transport.closables(context));
      record?.departs(charges, departure);
      await departure;
      return true;
    } catch (error) {
      leases?.release();
      // Of other decisions there is nothing to refund here, and a settlement may.
      if (decision.decidedBy === 'store' && this.settlements.claimSlots(decision)) {
        this.limiter.receiptOf(decision, ({ algorithm }) => algorithm.delays).refund();
      }
      return this.transport.failed(context, error);
    }
  }
}

/** A rejection with what a peek at the whole cost says of the policies that still reject it. */
function rejectedBy(decision: Decision, whole: Decision): Decision {
  const policies = decision.policies.map((policy, i) => (whole.policies[i]!.allowed ? policy : whole.policies[i]!));
  const waits = policies.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs ?? Infinity);
  const longest = Math.max(...waits);
  return { ...decision, policies, retryAfterMs: longest === Infinity ? null : longest };
}
