import type { HandlerContext } from '../metrics/decision-event.js';
import type { Decision } from '../policy/decision.js';
import { isPromise } from '../util/is-promise.js';
import type { Limiter } from './limiter.js';
import type { PolicyCharge } from './policy-charge.js';
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
    if (record === undefined) return this.queue(context, charges, undefined, undefined);
    const remainder = record.remainder(charges);
    return remainder.charges.length === 0 || this.queue(context, remainder.charges, record, remainder);
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
      decision = this.limiter.decide(charges, context);
    } catch (error) {
      return this.transport.failed(context, error);
    }
    if (!isPromise(decision)) return this.conclude(context, charges, decision, record, remainder);
    return decision.then(
      (later) => this.conclude(context, charges, later, record, remainder),
      (error: unknown) => this.transport.failed(context, error),
    );
  }

  private conclude(
    context: Context,
    charges: readonly PolicyCharge[],
    decision: Decision,
    record: RequestRecord | undefined,
    remainder: Remainder | undefined,
  ): boolean | Promise<boolean> {
    if (!decision.allowed) {
      const whole = decision.decidedBy === 'store' ? remainder?.wholeCost : undefined;
      return whole === undefined
        ? this.reject(context, decision, record)
        : this.rejectForWholeCost(context, decision, record, whole);
    }
    record?.charged(charges, decision);
    // None where all policies are 'open' without the store, or in shadow: there is nothing to say.
    if (decision.policies.length > 0) this.transport.decided(context, record?.withEarlier(decision) ?? decision);
    return decision.delayMs === 0 || this.wait(context, decision);
  }

  private reject(context: Context, decision: Decision, record: RequestRecord | undefined): boolean | Promise<boolean> {
    this.transport.decided(context, record?.withEarlier(decision) ?? decision);
    return this.transport.reject(context, decision);
  }

  /** Rejects a request that lacked a difference in cost, with the `retryAfterMs` of its whole cost. */
  private async rejectForWholeCost(
    context: Context,
    decision: Decision,
    record: RequestRecord | undefined,
    peeks: readonly PolicyCharge[],
  ): Promise<boolean> {
    let whole: Decision | undefined;
    try {
      whole = await this.limiter.decide(peeks);
    } catch {
      // The store has just become unavailable: its earlier answer is the best there is.
    }
    return this.reject(context, whole?.decidedBy === 'store' ? rejectedBy(decision, whole) : decision, record);
  }

  /**
   * A request that leaves the queue frees its departure slot if no request stands behind it. Its other charges stay: asking
   * and hanging up is not free.
   */
  private async wait(context: Context, decision: Decision): Promise<boolean> {
    try {
      await this.waitingRoom.wait(decision.delayMs, this.transport.closables(context));
      return true;
    } catch (error) {
      this.limiter.receiptOf(decision, ({ algorithm }) => algorithm.delays).refund();
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
