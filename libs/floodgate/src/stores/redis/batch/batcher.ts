import { RateLimitConfigError } from '../../../util/config-error.js';
import type { Deadlines, PendingDeadline } from '../../deadlines.js';
import type { Denials, StoreObserver } from '../../denials.js';
import type { Charge } from '../../charge.js';
import type { ChargeReceipt } from '../../receipt.js';
import { RateLimitStoreError, type Verdict } from '../../store.js';
import type { Availability } from './availability.js';
import { Batch, MAX_PLACES, MAX_ROWS } from './batch.js';
import { NotRunError } from './not-run-error.js';
import { type Pending, type PendingSettlement, rejectAll, StoreRequest } from './pending-request.js';
import type { BatchCall, Lane, Routing } from './lane.js';
import { placesOf } from './wire.js';
import { isNotRun } from '../clients/client-failure.js';
import { nextTick, setImmediate } from '../../../util/real-timers.js';
import { consequences } from '../../../util/running-work.js';
import { unawaited } from '../../../util/unawaited.js';

/**
 * Rows of a batch while other servers have requests of the same turn. Those servers decide while Node writes, so a second batch
 * for each server would gain nothing, and fewer calls save a Cluster of 6 some 15 % of its CPU.
 */
const MAX_ROWS_OF_SEVERAL = 2 * MAX_ROWS;

/** Takes requests that a call has left undecided. */
export interface UndecidedRequests {
  /** @param call that has left them undecided: its deadline stays the same */
  ask(requests: readonly Pending[], call: BatchCall): Promise<void>;
}

export interface BatcherSettings {
  /** Runs the program for a batch of a lane, and returns its checked reply. Default: as the lane does. */
  readonly decide?: ((lane: Lane, batch: Batch, call: BatchCall) => Promise<readonly number[]>) | undefined;
  readonly routing: Routing;
  readonly availability: Availability;
  /** Undefined: a batch waits as long as the client does. */
  readonly deadlines?: Deadlines | undefined;
  readonly denials?: Denials | undefined;
  readonly observer?: StoreObserver | undefined;
  /** Holds the writes of a flush back until the returned function is called. Default: each batch is a write of its own. */
  readonly cork?: (() => () => void) | undefined;
  /**
   * Takes back charges; one that is lost stays charged.
   *
   * @param isSure whether the server has just answered, whatever `availability` says; default false
   */
  readonly refund: (receipts: readonly ChargeReceipt[], isSure?: boolean) => void;
  /** Decides the requests that a call has left undecided, in another way. Undefined: a call decides all of its requests. */
  readonly undecided?: UndecidedRequests | undefined;
}

/** A batch that takes requests, or waits for its answer. */
class InFlightBatch implements BatchCall {
  /** Starts with the first request, so that a wait for others counts. */
  deadline: PendingDeadline | undefined = undefined;
  wasSent = false;
  isLate = false;

  readonly batch = new Batch();

  constructor(
    readonly lane: Lane,
    private readonly deadlines: Deadlines | undefined,
  ) {}

  maySend(): boolean {
    if (this.deadline === undefined || this.deadlines!.sendAgain(this.deadline)) return true;
    // A refund counts however late it is.
    return this.wasSent && this.batch.requestCount === 0;
  }
}

/**
 * Collects the requests of one turn of the event loop, and sends them as batches: one open batch for each lane.
 */
export class Batcher {
  /** The batch of each lane that takes the next request. Empty between turns. */
  private open = new Map<Lane, InFlightBatch>();
  /** The requests of this turn. */
  private waiting = 0;
  /** Batches that were sent, and neither answered nor failed. */
  private inFlight = 0;
  /** Batches that were sent and not answered, however late that is. */
  private unanswered = 0;
  /** The callers that wait until there are no unanswered batches. */
  private readonly waitForAnswers: (() => void)[] = [];
  /** Whether the last flush carried one request alone. */
  private alone = true;
  private turns = 0;

  constructor(private readonly settings: BatcherSettings) {}

  /** The number of the current turn: requests that are added in one turn leave together. */
  get turn(): number {
    return this.turns;
  }

  /** Decides a request. Throws at once, without sending anything, while its server is unavailable. */
  decide(charges: readonly Charge[], isPatient = false): Promise<Verdict> {
    const unavailable = this.settings.availability.check(charges);
    if (unavailable !== undefined) throw unavailable;
    return this.request(charges, isPatient);
  }

  /** Decides a request whose server was found available. */
  request(charges: readonly Charge[], isPatient = false): Promise<Verdict> {
    return new Promise((resolve, reject) => this.add(new StoreRequest(charges, isPatient, resolve, reject)));
  }

  /** Settles in the order of the decisions. Never throws. @param isSure see `add` */
  settle(settlement: PendingSettlement, isSure?: boolean): void {
    this.add(settlement, isSure);
  }

  /**
   * Puts a request into a batch, or rejects it when its server is unavailable. Never throws.
   *
   * @param isSure whether the server has just answered, whatever `availability` says; default false
   */
  add(pending: Pending, isSure = false): void {
    const { routing, availability } = this.settings;
    const places = pending.charges.length > 1 ? placesOf(pending.charges) : 1;
    if (places > MAX_PLACES) {
      rejectAll(
        pending,
        new RateLimitConfigError(
          'RedisStore',
          `takes at most ${MAX_PLACES} charges and blocks together, got ${places}`,
          'FG_POLICIES_TOGETHER',
        ),
        false,
      );
      return;
    }
    const lane = routing.laneOf(pending.charges);
    const unavailable = isSure ? undefined : availability.checkLane(lane);
    if (unavailable !== undefined) return rejectAll(pending, unavailable, true);
    if (this.waiting++ === 0) this.schedule();
    const { open } = this;
    const full = open.get(lane);
    if (full?.batch.add(pending, open.size > 1 ? MAX_ROWS_OF_SEVERAL : MAX_ROWS) === true) return;
    const call = this.begin(lane);
    call.batch.add(pending);
    open.set(lane, call);
    // Two batches that leave together are answered together, and from then on Node and Redis take turns idling. So a full batch
    // is sent at once: Redis decides it while Node writes the next.
    if (full !== undefined) unawaited(this.send(full));
  }

  /** Sends what this turn has brought so far. */
  readonly flush = (): void => {
    const { open, waiting } = this;
    if (waiting === 0) return; // an earlier flush has sent them
    // A new map, because `clear` would make V8 link the old table to the new one: an old table in the old space would keep all
    // later ones.
    this.open = new Map();
    this.waiting = 0;
    this.turns++;
    this.alone = waiting === 1;
    const uncork = open.size > 1 ? this.settings.cork?.() : undefined;
    for (const call of open.values()) unawaited(this.send(call));
    uncork?.();
  };

  /** Resolves once nothing waits for an answer, and no answer has led to another question. */
  async idle(): Promise<void> {
    for (;;) {
      await consequences();
      if (this.unanswered + this.waiting === 0) return;
      if (this.unanswered > 0) await new Promise<void>((resolve) => this.waitForAnswers.push(resolve));
    }
  }

  /**
   * The check phase follows the poll phase: it catches all requests that the poll phase's callbacks make. A client that asks
   * one request at a time would only wait for it. So while requests come alone, and none is in flight, the end of the callback
   * is late enough.
   */
  private schedule(): void {
    if (this.alone && this.inFlight === 0) nextTick(this.flush);
    else setImmediate(this.flush);
  }

  private begin(lane: Lane): InFlightBatch {
    const { availability, deadlines } = this.settings;
    const call = new InFlightBatch(lane, deadlines);
    call.deadline = deadlines?.ask((error) => {
      const { batch, wasSent } = call;
      call.isLate = true;
      if (!wasSent) return batch.fail(error, true);
      this.inFlight--; // Redis may never answer
      batch.expire(availability.failed(error, lane));
    });
    return call;
  }

  /**
   * Sends a batch, and answers each of its requests once. Never rejects. An answer that comes after the deadline is still one: what
   * requests hold by it that the deadline has failed is given back.
   */
  private async send(call: InFlightBatch): Promise<void> {
    const { availability, deadlines, undecided: others } = this.settings;
    const { lane, batch, deadline } = call;
    // If a stall of the event loop used up the deadline, Redis still gets a whole one.
    if (!call.maySend()) return;
    const sentAt = performance.now();
    call.wasSent = true;
    this.inFlight++;
    this.unanswered++;
    let undecided: readonly Pending[] | undefined;
    try {
      const reply = await this.ask(lane, batch, call);
      availability.answered(lane);
      undecided = this.settled(call, batch, reply, sentAt);
    } catch (error) {
      if (error instanceof NotRunError) undecided = batch.requests();
      else this.failed(call, lane, batch, error as Error);
    }
    if (undecided !== undefined) {
      if (call.isLate)
        batch.fail(new RateLimitStoreError('the server left it undecided, and there was no time to ask again'), true);
      else await others?.ask(undecided, call);
    }
    if (--this.unanswered === 0) for (const answered of this.waitForAnswers.splice(0)) answered();
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- the deadline may have passed meanwhile
    if (call.isLate) return;
    this.inFlight--;
    if (deadline !== undefined) deadlines?.answered(deadline);
  }

  /**
   * Sends a batch of requests that a call has left undecided, and answers them: with that call's deadline, which has failed them
   * where it fell. Never rejects.
   */
  async sendFor(call: BatchCall, lane: Lane, batch: Batch): Promise<void> {
    const sentAt = performance.now();
    try {
      const reply = await this.ask(lane, batch, call);
      this.settings.availability.answered(lane);
      this.settled(call, batch, reply, sentAt);
    } catch (error) {
      this.failed(call, lane, batch, error as Error);
    }
  }

  private failed({ isLate }: BatchCall, lane: Lane, batch: Batch, error: Error): void {
    batch.fail(isLate ? error : this.settings.availability.failed(error, lane), isNotRun(error));
  }

  /** Answers a batch from its reply. Returns what the server did not decide. */
  private settled(
    { isLate }: BatchCall,
    batch: Batch,
    reply: readonly number[],
    sentAt: number,
  ): readonly Pending[] | undefined {
    const abandoned: ChargeReceipt[] | undefined = isLate ? [] : undefined;
    const undecided = batch.settle(reply, this.settings.denials, sentAt, abandoned);
    if (abandoned !== undefined) this.settings.refund(abandoned, true);
    return undecided;
  }

  private ask(lane: Lane, batch: Batch, call: BatchCall): Promise<readonly number[]> {
    const { decide, observer } = this.settings;
    const { requestCount } = batch;
    if (requestCount > 0) observer?.batch(requestCount);
    return decide === undefined ? lane.decide(batch, call) : decide(lane, batch, call);
  }
}
