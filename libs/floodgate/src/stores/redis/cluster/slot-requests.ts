import type { BatchCall, Lane } from '../batch/lane.js';
import { Batch } from '../batch/batch.js';
import type { Pending, PendingRequest } from '../batch/pending-request.js';
import type { CrossSlot } from './cross-slot.js';
import type { ClusterRouting } from './routing.js';

export interface SlotRequestsSettings {
  readonly routing: ClusterRouting;
  readonly crossSlot: CrossSlot;
  /** Sends a batch with the deadline of a call, and answers its requests. Never rejects. */
  readonly send: (lane: Lane, batch: Batch, call: BatchCall) => Promise<void>;
  /** Holds the sockets back until the returned function is called. */
  readonly cork: () => () => void;
}

/** Asks the requests that a node has left undecided again, by slot: the node has charged nothing for them. */
export class SlotRequests {
  constructor(private readonly settings: SlotRequestsSettings) {}

  /**
   * Answers each request once, and resolves then. Never rejects.
   *
   * @param call which the node left undecided: its deadline stays the same
   */
  async ask(requests: readonly Pending[], call: BatchCall): Promise<void> {
    if (!call.maySend()) return;
    const { routing, send } = this.settings;
    const open = new Map<Lane, Batch>();
    const batches: [lane: Lane, batch: Batch][] = [];
    const uncork = this.settings.cork();
    const answers: Promise<void>[] = [];
    for (const pending of requests) {
      const { charges } = pending;
      if (pending.settlements === undefined && routing.hasSeveralSlots(charges)) {
        answers.push(this.decideInTurn(pending, call));
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
    for (const [lane, batch] of batches) answers.push(send(lane, batch, call));
    uncork();
    await Promise.all(answers);
  }

  /** Decides a request whose keys lie in several slots. */
  private async decideInTurn({ charges, resolve, reject }: PendingRequest, call: BatchCall): Promise<void> {
    const { crossSlot } = this.settings;
    try {
      const verdict = await crossSlot.decide(charges);
      if (call.isLate) crossSlot.refund(charges, verdict);
      else resolve(verdict, undefined);
    } catch (error) {
      if (!call.isLate) reject(error as Error);
    }
  }
}
