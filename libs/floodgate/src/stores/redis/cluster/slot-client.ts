import type { Found } from '../../judge.js';
import { receiptsOf, RefundableRequest } from '../../receipt.js';
import type { Charge, ChargeReceipt, Verdict } from '../../store.js';
import type { PendingRequest } from '../batch/pending-request.js';
import { wasStoreAsked } from '../../unavailable.js';
import { RedisUnavailableError } from '../connection/redis-failure.js';

/** The answer of one slot: its verdict, and the levels that it found. A known denial has no levels. */
export interface SlotAnswer {
  readonly charges: readonly Charge[];
  readonly verdict: Verdict;
  readonly found?: readonly Found[] | undefined;
  /** When the slot was asked, for a known denial. */
  readonly sentAt?: number;
}

/** A cross-slot request under way. */
export interface CrossSlotRequest {
  /** Whether the deadline has fallen: the request has its answer. */
  late: boolean;
  /** Whether some slot was asked, answered or not. */
  wasAsked: boolean;
  /** The charges that were made so far. */
  readonly charged: RefundableRequest[];
  /** The answer at the deadline, once the request is rejected. */
  rejection?: Verdict;
  /** The answer at the deadline, once the request is allowed and only shadows have yet to answer. */
  allowance?: Verdict;
}

/** Asks one slot for one step of a cross-slot request. */
export class SlotClient {
  /**
   * @param add puts a pending request into a batch; never throws
   * @param sendRefund sends refunds; a lost refund stays charged
   */
  constructor(
    private readonly add: (pending: PendingRequest) => void,
    private readonly sendRefund: (receipts: readonly ChargeReceipt[]) => void,
  ) {}

  /** Asks a slot. */
  ask(charges: readonly Charge[], request: CrossSlotRequest): Promise<SlotAnswer> {
    return new Promise((resolve, reject) => {
      this.add({
        charges,
        next: undefined,
        keepsLevels: true,
        isPatient: true, // the cross-slot request has a deadline of its own, after which it refunds what is charged
        resolve: (verdict, found) => {
          request.wasAsked = true;
          resolve({ charges, verdict, found });
        },
        reject: (error) => {
          request.wasAsked ||= wasStoreAsked(error);
          reject(error);
        },
      });
    });
  }

  receiptOf({ charges, verdict }: SlotAnswer): RefundableRequest {
    return new RefundableRequest(verdict.allowed ? receiptsOf(charges, verdict) : [], this.sendRefund);
  }
}

/** The failure of a cross-slot request: a node can be found unavailable after other slots were asked. */
export function crossSlotFailure(error: unknown, request: CrossSlotRequest): unknown {
  return request.wasAsked && !wasStoreAsked(error) ? new RedisUnavailableError((error as Error).message, true) : error;
}
