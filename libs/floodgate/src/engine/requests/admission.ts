import type { HandlerContext } from '../../watch/decision-event.js';
import type { Monitor } from '../../watch/monitor.js';
import type { Decision } from '../../policy/decision.js';
import { allOf, type Answer, attempt } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import type { Exchange } from '../../holds/waiting/exchange.js';
import { type JudgedCharge, Judgement } from '../../charges/judgement.js';
import type { Engine } from '../engine.js';
import type { PendingCall, PendingCharges } from '../../holds/pending/pending-charges.js';
import { canDelay } from '../../policy/bound-policy.js';
import { hasLateNumbers, type PolicyCharge, withoutBlock } from '../../charges/policy-charge.js';
import type { RequestRecord } from './request-record.js';
import type { RouteTraits } from './route-traits.js';
import type { WaitingRoom } from '../../holds/waiting/waiting-room.js';

/** How the framework answers a request. */
export interface Transport<Context> {
  /** Sets the headers of an allowed or a rejected request. */
  decided(context: Context, decision: Decision): void;
  /** Answers a rejected request, by throwing. */
  reject(context: Context, decision: Decision): Answer<boolean>;
  /** Answers a request that the engine could not decide on, or not keep waiting, by throwing. */
  failed(context: Context, error: unknown): never;
  /** The request's exchange. Called only if the request waits, holds leases or is settled. */
  exchange(context: Context): Exchange;
}

/** One request on its way, or a further step of it. */
export interface AdmittedRequest<Context> {
  /** What its requests may need. */
  readonly route: RouteTraits;
  readonly context: Context;
  readonly charges: readonly PolicyCharge[];
  /** What the request was charged before. */
  readonly record: RequestRecord;
  /** The call that holds what an earlier step was charged; undefined: none. */
  readonly shared: PendingCall | undefined;
}

/**
 * Takes one request from its charges to its answer: reserves a place in the waiting room, asks the limiter, sets headers, and
 * waits for a departure slot. Synchronous steps are not awaited: every request would pay for the promise.
 */
export class Admission<Context extends HandlerContext> {
  constructor(
    private readonly engine: Engine,
    private readonly waitingRoom: WaitingRoom,
    private readonly transport: Transport<Context>,
    private readonly pending: PendingCharges,
    private readonly monitor: Pick<Monitor, 'begin' | 'waited'>,
  ) {}

  /** @throws what the transport throws */
  admit(request: AdmittedRequest<Context>): Answer<boolean> {
    return request.record.isFresh ? this.queue(request) : this.admitRest(request);
  }

  /** Admits a further step of a request: reuses earlier decisions of its policies, and asks the other policies. */
  private admitRest(request: AdmittedRequest<Context>): Answer<boolean> {
    const { context, charges, record } = request;
    const underWay = record.underWay(charges);
    if (underWay !== undefined) return underWay.then(() => this.admitRenewed(request));
    const rejection = record.rejection(charges);
    if (rejection !== undefined) return this.transport.reject(context, rejection);
    const failure = record.failure(charges);
    if (failure !== undefined) return this.transport.failed(context, failure);
    const shared = this.pending.join(() => this.transport.exchange(context).call, charges, record);
    const left = record.left(charges);
    const departures = record.departures(charges);
    const answer = left.length === 0 || this.queue({ ...request, charges: left, shared });
    if (left.length === 0 && shared !== undefined) this.transport.exchange(context).onEnd(shared);
    if (departures.length === 0) return answer;
    const departed = Promise.all(departures).catch((error: unknown) => this.leave(context, error));
    return Promise.all([answer, departed]).then(([admitted]) => admitted);
  }

  /** Admits a step that has waited for another one, with the numbers by which that one was decided. */
  private admitRenewed(request: AdmittedRequest<Context>): Answer<boolean> {
    const { charges, record } = request;
    if (!charges.some(hasLateNumbers)) return this.admitRest(request);
    const left = new Set(record.left(charges));
    const renew = (charge: PolicyCharge): Answer<PolicyCharge> =>
      left.has(charge) ? (charge.late?.again(false) ?? charge) : charge;
    return attempt(
      () => allOf(charges.map(renew)),
      (all) => this.admitRest({ ...request, charges: all }),
      (error) => this.fail(request, error),
    );
  }

  /** Reserves a place before the store charges a request that may have to wait, and releases it at the end. */
  private queue(request: AdmittedRequest<Context>): Answer<boolean> {
    const queued = request.route.queues ? request.charges.find(canDelay) : undefined;
    if (queued === undefined) return this.decide(request);
    const { waitingRoom } = this;
    const client = queued.global === true ? undefined : queued.identity;
    try {
      waitingRoom.reserve(client);
    } catch (error) {
      request.shared?.left();
      return this.transport.failed(request.context, error);
    }
    let answer: Answer<boolean> | undefined;
    try {
      answer = this.decide(request);
    } finally {
      if (!isPromise(answer)) waitingRoom.release(client);
    }
    return isPromise(answer) ? answer.finally(() => waitingRoom.release(client)) : answer;
  }

  private decide(request: AdmittedRequest<Context>): Answer<boolean> {
    const { context, charges, record } = request;
    let asked = charges;
    for (const { late } of charges) if (late !== undefined) asked = charges.map(withoutBlock);
    let judged: Answer<Judgement>;
    // `attempt` is not used here: every request would pay for its closures.
    try {
      judged = this.engine.decide(asked, context, record.execution);
    } catch (error) {
      return this.fail(request, error);
    }
    if (judged instanceof Judgement) return this.conclude(request, judged);
    const answer = judged.then(
      (judgement) => this.conclude(request, judgement),
      (error: unknown) => this.fail(request, error),
    );
    // `judged` settles after the outcome is noted, and before the request waits for its departure slot.
    record.decides(charges, judged);
    return answer;
  }

  private conclude(request: AdmittedRequest<Context>, judgement: Judgement): Answer<boolean> {
    const { route, context, charges, record, shared } = request;
    const { decision } = judgement;
    const { allowed } = decision;
    if (!allowed && charges.some(hasLateNumbers)) return this.decideAgain(request, judgement);
    record.decided(charges, judgement);
    if (!allowed) shared?.left();
    const holds = route.settles || route.holdsLeases || shared !== undefined;
    const held = allowed && holds ? this.hold(request, judgement) : undefined;
    // The list is empty if all policies are in shadow, or 'open' while the store is unavailable: then there are no headers.
    if (decision.policies.length > 0) this.transport.decided(context, record.withEarlier(judgement));
    if (!allowed) return this.transport.reject(context, decision);
    return decision.delayMs === 0 || this.wait(request, judgement, held);
  }

  /**
   * Decides a request once more that does not fit numbers which stand in for others. The first decision has charged nothing, and did not
   * count.
   */
  private decideAgain(request: AdmittedRequest<Context>, rejection: Judgement): Promise<boolean> {
    const { charges, record } = request;
    const renewed = this.waitForNumbers(request, rejection).then(() =>
      allOf(charges.map((charge) => charge.late?.again(true) ?? charge)),
    );
    const answer = renewed.then(
      (known) => this.decide({ ...request, charges: known }),
      (error: unknown) => this.fail(request, error),
    );
    record.decides(charges, renewed);
    return answer;
  }

  /** Waits for the numbers of the policies that reject a request. Without a place in the waiting room, the request does not wait. */
  private async waitForNumbers({ context, charges }: AdmittedRequest<Context>, rejection: Judgement): Promise<void> {
    if (rejection.decision.decidedBy === 'override') return;
    const waiting = charges.filter(({ late }, i) => late !== undefined && isOutOfRoom(rejection.at(i)));
    if (waiting.length === 0) return;
    const { waitingRoom } = this;
    const client = waiting[0]!.identity;
    try {
      waitingRoom.reserve(client);
    } catch {
      return; // it is rejected now
    }
    try {
      const known = Promise.all(waiting.map(({ late }) => late!.known()));
      await waitingRoom.waitFor(known, this.transport.exchange(context).client);
    } finally {
      waitingRoom.release(client);
    }
  }

  /** Keeps the request's leases, and the charges to settle, until the request has ended. */
  private hold(
    { context, charges, record, shared }: AdmittedRequest<Context>,
    judgement: Judgement,
  ): PendingCall | undefined {
    let exchange: Exchange | undefined;
    const call = (): object => (exchange = this.transport.exchange(context)).call;
    const held = this.pending.hold(call, charges, judgement, record, shared);
    if (held !== undefined) (exchange ?? this.transport.exchange(context)).onEnd(held);
    return held;
  }

  private fail({ context, charges, record, shared }: AdmittedRequest<Context>, error: unknown): never {
    shared?.left();
    record.failed(charges, error);
    return this.transport.failed(context, error);
  }

  /**
   * A request that leaves the queue frees its departure slot if no later request waits. Its other charges stay: a client that
   * disconnects early pays, too.
   */
  private async wait(
    { context, charges, record }: AdmittedRequest<Context>,
    judgement: Judgement,
    held: PendingCall | undefined,
  ): Promise<boolean> {
    const since = this.monitor.begin();
    try {
      const departure = this.waitingRoom.wait(judgement.decision.delayMs, this.transport.exchange(context).client);
      record.departs(charges, departure);
      await (held?.whileWaiting(departure) ?? departure);
      this.monitor.waited(judgement.decision, 'allowed', since);
      return true;
    } catch (error) {
      this.monitor.waited(judgement.decision, 'canceled', since);
      // Only slots of the store can be refunded.
      if (judgement.decision.decidedBy === 'store') {
        this.engine.refund(judgement.receipts.filter(({ proof }) => proof.algorithm.delays));
      }
      return this.leave(context, error);
    }
  }

  /** Rejects a request that was charged: its handler is not called. */
  private leave(context: Context, error: unknown): never {
    this.transport.exchange(context).abandon();
    return this.transport.failed(context, error);
  }
}

/** Whether other numbers could let a request pass: a block has none. */
function isOutOfRoom(judged: JudgedCharge | undefined): boolean {
  return judged?.verdict.allowed === false && judged.verdict.blockedFor === undefined;
}
