import type { Deadlines, Question } from '../../deadlines.js';
import type { Denials, StoreObserver } from '../../observers.js';
import type { Availability } from '../batch/availability.js';
import type { Lane } from '../batch/lane.js';
import { type BatcherSettings, byLane } from '../batch/batcher.js';
import { Batch } from '../batch/batch.js';
import type { PendingRequest } from '../batch/pending-request.js';
import type { CrossSlot } from './cross-slot.js';
import type { ClusterRouting } from './routing.js';

export interface SlotRequestsSettings {
  readonly routing: ClusterRouting;
  readonly decide: BatcherSettings['decide'];
  readonly crossSlot: CrossSlot;
  readonly availability: Availability;
  readonly deadlines: Deadlines | undefined;
  readonly denials: Denials | undefined;
  readonly observer: StoreObserver | undefined;
  /** Holds the sockets back until the returned function is called. */
  readonly cork: () => () => void;
}

/** Asks requests again, by slot, that a node has left undecided: the node has charged nothing for them. */
export class SlotRequests {
  constructor(private readonly settings: SlotRequestsSettings) {}

  /**
   * Answers each request once, and resolves then. Never rejects.
   *
   * @param question that of the batch which the node left undecided: the deadline stays the same
   */
  async ask(requests: readonly PendingRequest[], question: Question | undefined): Promise<void> {
    const { deadlines, routing } = this.settings;
    if (question !== undefined && deadlines?.sendAgain(question) === false) return;
    const open = new Map<Lane, Batch>();
    const batches: [lane: Lane, batch: Batch][] = [];
    const uncork = this.settings.cork();
    const answers: Promise<void>[] = [];
    for (const pending of requests) {
      const { charges } = pending;
      if (routing.hasSeveralSlots(charges)) {
        answers.push(this.decideInTurn(pending, question));
        continue;
      }
      const lane = routing.laneOfKey(charges[0]!.key);
      // The first batch still links its requests, to fail them at the deadline.
      const again = { ...pending, next: undefined };
      if (open.get(lane)?.add(again) === true) continue;
      const batch = new Batch();
      batch.add(again);
      batches.push([lane, batch]);
      open.set(lane, batch);
    }
    for (const [lane, batch] of batches) answers.push(this.send(lane, batch, question));
    uncork();
    await Promise.all(answers);
  }

  private async send(lane: Lane, batch: Batch, question: Question | undefined): Promise<void> {
    const { decide = byLane, availability, denials, observer } = this.settings;
    const sentAt = performance.now();
    observer?.batch(batch.size);
    try {
      const reply = await decide(lane, batch, question);
      availability.answered(lane);
      batch.settle(reply, denials, sentAt); // after the deadline, too: a request that was charged late is refunded
    } catch (error) {
      if (!isOver(question)) batch.fail(availability.failed(error as Error, lane));
    }
  }

  /** Decides a request whose keys lie in several slots. */
  private async decideInTurn({ charges, resolve, reject }: PendingRequest, question?: Question): Promise<void> {
    const { crossSlot } = this.settings;
    try {
      const verdict = await crossSlot.decide(charges);
      if (isOver(question)) crossSlot.refund(charges, verdict);
      else resolve(verdict, undefined);
    } catch (error) {
      if (!isOver(question)) reject(error as Error);
    }
  }
}

/** Whether the requests of a question have their answer, the missed deadline. */
function isOver(question: Question | undefined): boolean {
  return question !== undefined && question.fail === undefined;
}
