import type { Deadlines, Question } from '../deadlines.js';
import type { Denials, StoreObserver } from '../observers.js';
import type { Availability } from './availability.js';
import { Batch, type PendingRequest } from './batch.js';
import { NotRunError } from './node-script.js';
import type { Routing } from './routing.js';
import type { SlotRequests } from './slot-requests.js';

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
  /** Cluster only: asks the requests again that a node has left undecided. */
  readonly bySlot?: Pick<SlotRequests, 'ask'> | undefined;
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
    const uncork = batches.length > 1 ? this.settings.cork?.() : undefined;
    for (const batch of batches) void this.send(batch);
    uncork?.();
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

  /** Never rejects: every request of the batch gets one answer. What comes after it is dropped. */
  private async send(batch: Batch): Promise<void> {
    const { decide, availability, deadlines, denials, observer, settlesLate, bySlot } = this.settings;
    let late = false;
    const question = deadlines?.ask((error) => {
      late = true;
      this.inFlight--; // Redis may never answer
      batch.fail(availability.failed(error, batch.lane));
      if (!settlesLate) batch.forget();
    });
    const sentAt = performance.now();
    this.inFlight++;
    observer?.batch(batch.size);
    let undecided: readonly PendingRequest[] | undefined;
    try {
      const reply = await decide(batch, question);
      availability.answered(batch.lane);
      if (!late || settlesLate) undecided = batch.settle(reply, denials, sentAt);
    } catch (error) {
      if (error instanceof NotRunError) undecided = batch.requests();
      else if (!late) batch.fail(availability.failed(error as Error, batch.lane));
    }
    if (undecided !== undefined && !late) await bySlot?.ask(undecided, question);
    if (late) return;
    this.inFlight--;
    if (question !== undefined) deadlines?.answered(question);
  }
}
