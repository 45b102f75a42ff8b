import type { PendingDeadline } from '../../deadlines.js';
import type { Lane } from '../batch/lane.js';
import { type BatcherSettings, byLane } from '../batch/batcher.js';
import { Batch } from '../batch/batch.js';
import type { Pending, PendingRequest } from '../batch/pending-request.js';
import type { CrossSlot } from './cross-slot.js';
import type { ClusterRouting } from './routing.js';

export interface SlotRequestsSettings extends Pick<
  BatcherSettings,
  'decide' | 'availability' | 'deadlines' | 'denials' | 'observer'
> {
  readonly routing: ClusterRouting;
  readonly crossSlot: CrossSlot;
  /** Holds the sockets back until the returned function is called. */
  readonly cork: () => () => void;
}

/** Asks the requests that a node has left undecided again, by slot: the node has charged nothing for them. */
export class SlotRequests {
  constructor(private readonly settings: SlotRequestsSettings) {}

  /**
   * Answers each request once, and resolves then. Never rejects.
   *
   * @param deadline of the batch which the node left undecided: it stays the same
   */
  async ask(requests: readonly Pending[], deadline: PendingDeadline | undefined): Promise<void> {
    const { deadlines, routing } = this.settings;
    if (deadline !== undefined && deadlines?.sendAgain(deadline) === false) return;
    const open = new Map<Lane, Batch>();
    const batches: [lane: Lane, batch: Batch][] = [];
    const uncork = this.settings.cork();
    const answers: Promise<void>[] = [];
    for (const pending of requests) {
      const { charges } = pending;
      if (pending.settlements === undefined && routing.hasSeveralSlots(charges)) {
        answers.push(this.decideInTurn(pending, deadline));
        continue;
      }
      const lane = routing.laneOfKey(charges[0]!.key);
      // The first batch still links its requests, to fail them at the deadline.
      const again = pending.settlements === undefined ? { ...pending, next: undefined } : pending;
      if (open.get(lane)?.add(again) === true) continue;
      const batch = new Batch();
      batch.add(again);
      batches.push([lane, batch]);
      open.set(lane, batch);
    }
    for (const [lane, batch] of batches) answers.push(this.send(lane, batch, deadline));
    uncork();
    await Promise.all(answers);
  }

  private async send(lane: Lane, batch: Batch, deadline: PendingDeadline | undefined): Promise<void> {
    const { decide = byLane, availability, denials, observer } = this.settings;
    const sentAt = performance.now();
    const { requestCount } = batch;
    if (requestCount > 0) observer?.batch(requestCount);
    try {
      const reply = await decide(lane, batch, deadline);
      availability.answered(lane);
      batch.settle(reply, denials, sentAt); // after the deadline, too: a request that was charged late is refunded
    } catch (error) {
      if (!isOver(deadline)) batch.fail(availability.failed(error as Error, lane));
    }
  }

  /** Decides a request whose keys lie in several slots. */
  private async decideInTurn({ charges, resolve, reject }: PendingRequest, deadline?: PendingDeadline): Promise<void> {
    const { crossSlot } = this.settings;
    try {
      const verdict = await crossSlot.decide(charges);
      if (isOver(deadline)) crossSlot.refund(charges, verdict);
      else resolve(verdict, undefined);
    } catch (error) {
      if (!isOver(deadline)) reject(error as Error);
    }
  }
}

/** Whether the deadline was missed, which is the answer of its requests. */
function isOver(deadline: PendingDeadline | undefined): boolean {
  return deadline !== undefined && deadline.fail === undefined;
}
