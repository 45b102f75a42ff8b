import type { Deadlines, Question } from '../deadlines.js';
import type { Denials, StoreObserver } from '../observers.js';
import type { Charge, Verdict } from '../store.js';
import type { Availability } from './availability.js';
import { Batch, type PendingRequest } from './batch.js';
import { NotRunError } from './node-script.js';
import type { Routing } from './routing.js';

/** The event loop's phases, which tests replace. */
export interface Phases {
  /** Runs `task` at the end of the current callback. */
  readonly tick: (task: () => void) => void;
  /** Runs `task` in the check phase, after the poll phase. */
  readonly turn: (task: () => void) => void;
}

const PHASES: Phases = {
  tick: (task) => process.nextTick(task),
  turn: (task) => void setImmediate(task),
};

export interface BatcherSettings {
  /** Runs the program for a batch, and returns its checked reply. */
  readonly decide: (batch: Batch, question: Question | undefined) => Promise<readonly number[]>;
  readonly routing: Routing;
  readonly availability: Availability;
  /** Undefined: a batch waits as long as the client does. */
  readonly deadlines?: Deadlines | undefined;
  readonly denials?: Denials | undefined;
  readonly observer?: StoreObserver | undefined;
  /** Whether pending requests learn of an answer after their deadline. A cross-slot request refunds what was charged late. */
  readonly settlesLate: boolean;
  readonly phases?: Phases;
  /** Holds the writes of a flush back until the returned function is called. Default: each batch is a write of its own. */
  readonly cork?: (() => () => void) | undefined;
  /** Cluster only: where requests go that a node has left undecided. */
  readonly bySlot?: SlotRequests | undefined;
}

/** How requests are asked again, by slot, that a node has left undecided. */
export interface SlotRequests {
  /** The slot of the first key. */
  readonly slotOf: (charges: readonly Charge[]) => number;
  readonly hasSeveralSlots: (charges: readonly Charge[]) => boolean;
  /** Decides a request whose keys lie in several slots. */
  readonly decide: (charges: readonly Charge[]) => Promise<Verdict>;
  /** Refunds a request whose decision came after the deadline. */
  readonly refund: (charges: readonly Charge[], verdict: Verdict) => void;
}

/** Batches that were sent for the same requests, and are not answered. They share a deadline. */
interface Sending {
  readonly batches: Batch[];
  late: boolean;
  question: Question | undefined;
}

/** Collects the requests of one turn of the event loop, and sends them as batches: one open batch for each lane. */
export class Batcher {
  /** The batches of this turn; empty between turns. */
  private batches: Batch[] = [];
  /** By lane: the batch that takes the next request. */
  private open = new Map<number, Batch>();
  /** Batches that were sent and not answered. */
  private inFlight = 0;
  /** Whether the last flush carried one request alone. */
  private alone = true;
  private readonly phases: Phases;

  constructor(private readonly settings: BatcherSettings) {
    this.phases = settings.phases ?? PHASES;
  }

  /** Puts a request into a batch, or rejects it when its server is unavailable. Never throws. */
  add(pending: PendingRequest): void {
    const { routing, availability } = this.settings;
    const lane = routing.laneOf(pending.charges);
    const unavailable = availability.checkLane(lane);
    if (unavailable !== undefined) {
      pending.reject(unavailable);
      return;
    }
    if (this.open.get(lane)?.add(pending) === true) return;
    if (this.batches.length === 0) this.schedule();
    const batch = new Batch(lane);
    batch.add(pending);
    this.batches.push(batch);
    this.open.set(lane, batch);
  }

  /** Sends what this turn has brought so far. */
  readonly flush = (): void => {
    const { batches } = this;
    if (batches.length === 0) return; // somebody flushed before the turn ended
    this.batches = [];
    // Not cleared: V8 links a map's old table to its new one. An old table in the old space would keep all that follow.
    this.open = new Map();
    this.alone = batches.length === 1 && batches[0]!.size === 1;
    this.sendAll(batches);
  };

  /**
   * The check phase follows the poll phase: it catches all requests that the poll phase's callbacks make. A client that asks
   * one request at a time would only wait for it. So while requests come alone, and none is in flight, the end of the callback
   * is late enough.
   */
  private schedule(): void {
    if (this.alone && this.inFlight === 0) this.phases.tick(this.flush);
    else this.phases.turn(this.flush);
  }

  private sendAll(batches: readonly Batch[], sending?: Sending): void {
    const uncork = batches.length > 1 ? this.settings.cork?.() : undefined;
    for (const batch of batches) void this.send(batch, sending);
    uncork?.();
  }

  /** Never rejects: every request of the batch gets one answer. What comes after it is dropped. */
  private async send(batch: Batch, sending = this.begin()): Promise<void> {
    const { decide, availability, denials, observer, settlesLate } = this.settings;
    const sentAt = performance.now();
    this.inFlight++;
    sending.batches.push(batch);
    observer?.batch(batch.size);
    let undecided: readonly PendingRequest[] | undefined;
    try {
      const reply = await decide(batch, sending.question);
      availability.answered(batch.lane);
      if (!sending.late || settlesLate) undecided = batch.settle(reply, denials, sentAt);
    } catch (error) {
      if (error instanceof NotRunError) undecided = batch.takeAll();
      else if (!sending.late) batch.fail(availability.failed(error as Error, batch.lane));
    }
    if (sending.late) return;
    if (undecided !== undefined) this.askBySlot(undecided, sending);
    this.ended(batch, sending);
  }

  /** A batch has its answer, before the deadline. */
  private ended(batch: Batch, sending: Sending): void {
    this.inFlight--;
    sending.batches.splice(sending.batches.indexOf(batch), 1);
    if (sending.batches.length > 0 || sending.question === undefined) return;
    this.settings.deadlines?.answered(sending.question);
  }

  private begin(): Sending {
    const { availability, deadlines, settlesLate } = this.settings;
    const sending: Sending = { batches: [], late: false, question: undefined };
    sending.question = deadlines?.ask((error) => {
      sending.late = true;
      for (const batch of sending.batches) {
        this.inFlight--; // Redis may never answer
        batch.fail(availability.failed(error, batch.lane));
        if (!settlesLate) batch.forget();
      }
    });
    return sending;
  }

  /** Asks requests again of which the node has run nothing, within the same deadline. */
  private askBySlot(requests: readonly PendingRequest[], sending: Sending): void {
    const { deadlines, bySlot } = this.settings;
    if (sending.question !== undefined && deadlines?.sendAgain(sending.question) === false) return;
    const batches: Batch[] = [];
    const open = new Map<number, Batch>();
    for (const pending of requests) {
      if (bySlot!.hasSeveralSlots(pending.charges)) {
        void this.askSlots(pending, sending);
        continue;
      }
      const slot = bySlot!.slotOf(pending.charges);
      if (open.get(slot)?.add(pending) === true) continue;
      const batch = new Batch(slot);
      batch.add(pending);
      batches.push(batch);
      open.set(slot, batch);
    }
    this.sendAll(batches, sending);
  }

  /** Asks the slots of one request in turn. Never rejects. */
  private async askSlots(pending: PendingRequest, sending: Sending): Promise<void> {
    const { decide, refund } = this.settings.bySlot!;
    const { charges } = pending;
    const batch = new Batch(); // it fails the request at the deadline
    batch.add(pending);
    sending.batches.push(batch);
    this.inFlight++;
    try {
      const verdict = await decide(charges);
      if (sending.late) refund(charges, verdict);
      else pending.resolve(verdict, undefined);
    } catch (error) {
      if (!sending.late) pending.reject(error as Error);
    }
    if (!sending.late) this.ended(batch, sending);
  }
}
