import { neverFits as isBeyondLimit } from '../stores/charge.js';
import { type ScheduledResult, ScheduledTallies } from '../watch/scheduled-tallies.js';
import type { ScheduledStats } from '../watch/stats.js';
import { type Answer, andThen, attempt } from '../util/answer.js';
import type { Engine } from '../engine/engine.js';
import { CallWaitError, LimiterClosedError, LimiterUnavailableError } from '../charges/errors.js';
import type { Judgement } from '../charges/judgement.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import type { Holds } from '../holds/pending/holds.js';
import { type Blocker, blockerOf, napOf, neverFits } from './blocker.js';
import type { Gate } from './gate.js';
import { type GateSettings, Gates } from './gates.js';
import { QueueRoom } from './queue-room.js';
import { ScheduledCall, type Turn, type Waits } from './scheduled-call.js';
import { unawaited } from '../util/unawaited.js';

/** `retryAfterMs` of the error of a call that is blocked without an end. */
const BLOCKED_RETRY_MS = 60_000;

/** The settings of a queue. */
export interface CallQueueSettings extends GateSettings {
  /** The most milliseconds that a decision takes. A call that would wait less needs a timer from the start. */
  readonly deadlineMs: number;
}

/**
 * Lets calls wait for their turns: one gate for each policy and identity that rejects. A call without others before it asks the
 * store at once. A rejected call waits at the gate of the policy that rejects it for longest, in the order of the calls, and
 * calls that come later for the same policy and identity queue behind it without asking.
 */
export class CallQueue {
  readonly gates: Gates;
  /** Counts the ends of the calls. */
  readonly tallies = new ScheduledTallies();
  /** The calls that wait, and the gate of each; undefined while it waits for its departure slot, or for the store. */
  private readonly calls = new Map<ScheduledCall, Gate | undefined>();
  private readonly room: QueueRoom;
  private order = 0;
  /** Whether `close` was called. */
  isClosed = false;

  /**
   * @param holds keeps the leases of a call from its charge on: it may wait for longer than they last
   * @param stopped how many milliseconds other processes have stopped the policies of charges for; default: not at all
   */
  constructor(
    private readonly engine: Pick<Engine, 'decide' | 'refund' | 'overriddenCharge'>,
    private readonly holds: Pick<Holds, 'leasesOf'>,
    private readonly settings: CallQueueSettings,
    private readonly stopped?: (charges: readonly PolicyCharge[]) => Answer<readonly number[]>,
  ) {
    this.gates = new Gates(settings, (gate) => this.pump(gate));
    this.room = new QueueRoom(settings.maxQueued);
  }

  /** How many calls wait. */
  get size(): number {
    return this.calls.size;
  }

  /**
   * The gate behind which a call has to wait; undefined: it may ask at once.
   *
   * @throws {LimiterClosedError} once `close` was called
   */
  gateBefore(charges: readonly PolicyCharge[]): Gate | undefined {
    if (this.isClosed) throw this.counted(charges, 'closed', new LimiterClosedError());
    return this.gates.before(charges);
  }

  /** The number of a call: calls are served in this order. */
  next(): number {
    return this.order++;
  }

  /** The instant by the queue's clock. */
  nowMs(): number {
    return this.settings.nowMs();
  }

  /** Whether a call has to be able to leave before its first question is answered. */
  mayLeaveEarly(maxWaitMs: number): boolean {
    return maxWaitMs > 0 && maxWaitMs < this.settings.deadlineMs;
  }

  /**
   * Begins a call that may have to wait.
   *
   * @param order of `next`
   * @param since when it came
   * @throws {CallQueueFullError} when too many calls of one of its policies wait
   * @throws {LimiterClosedError} once `close` was called
   */
  begin(
    charges: readonly PolicyCharge[],
    signal: AbortSignal | undefined,
    maxWaitMs: number,
    order = this.next(),
    since = this.settings.nowMs(),
  ): ScheduledCall {
    if (this.isClosed) throw this.counted(charges, 'closed', new LimiterClosedError());
    const lack = this.room.lackFor(charges);
    if (lack !== undefined) throw this.counted(charges, 'full', lack);
    this.room.enter(charges);
    const waits: Waits = { signal, maxWaitMs, deadline: since + maxWaitMs };
    const call = new ScheduledCall(charges, order, waits, this.ended);
    this.calls.set(call, undefined);
    call.watch();
    if (maxWaitMs > 0) {
      const { nowMs, timer } = this.settings;
      call.after(timer, Math.max(0, waits.deadline - nowMs()), () => call.leave(this.late(call)));
    }
    return call;
  }

  /**
   * Lets a call wait behind the others of a gate.
   *
   * @throws {RateLimitConfigError} when its cost never fits: at once, and not after the calls before it
   */
  queueBehind(
    gate: Gate,
    charges: readonly PolicyCharge[],
    signal: AbortSignal | undefined,
    maxWaitMs: number,
  ): ScheduledCall {
    for (const charge of charges) this.expectFits(charge, charges);
    const call = this.begin(charges, signal, maxWaitMs);
    // The reason for which the first call waits holds for all others.
    const opensAt = Math.max(gate.pausedUntil, gate.isCertain ? gate.opensAt : 0);
    const isLate = opensAt >= call.waits.deadline && maxWaitMs !== Infinity;
    if (isLate || (maxWaitMs === 0 && gate.size + gate.asking > 0)) {
      const ms = opensAt === Infinity ? BLOCKED_RETRY_MS : Math.max(1, opensAt - this.settings.nowMs());
      call.leave(this.late(call, ms));
    } else {
      this.waits(call, gate);
      this.pump(gate);
    }
    return call;
  }

  /** Asks the store for a new call. */
  ask(call: ScheduledCall): void {
    this.askAt(undefined, call);
  }

  /** Rejects the calls that wait, and all that come later. */
  close(): void {
    this.isClosed = true;
    for (const call of this.calls.keys()) call.leave(new LimiterClosedError());
    this.gates.close();
  }

  /** The calls by policy, in `RateLimiter.stats`. */
  stats(): { readonly scheduled: readonly ScheduledStats[] } {
    return { scheduled: this.tallies.snapshot() };
  }

  /** Counts a call that is not let in. Returns the error to throw. */
  counted<E>(charges: readonly PolicyCharge[], result: ScheduledResult, error: E): E {
    this.tallies.count(charges, result);
    return error;
  }

  private expectFits(charge: PolicyCharge, all: readonly PolicyCharge[]): void {
    if (!isBeyondLimit(charge) || charge.shadow) return;
    const own = this.engine.overriddenCharge(charge.policy, charge.identity);
    if (own === undefined || charge.cost > own.algorithm.maxCost)
      throw this.counted(all, 'failed', neverFits(charge, own ?? charge));
  }

  private readonly ended = (call: ScheduledCall, left: { readonly error: unknown } | undefined): void => {
    const gate = this.calls.get(call);
    this.calls.delete(call);
    this.room.leave(call.charges);
    if (call.hasWaited) this.tallies.waitsNoLonger(call.charges);
    this.tallies.count(call.charges, resultOf(call, left));
    if (call.departing !== undefined) this.refund(call.departing);
    if (gate === undefined) return;
    const next = gate.forget(call);
    if (gate.size === 0) this.gates.dropIdle(gate);
    // The gate sleeps for as long as the first call has to wait. The next one may fit earlier.
    else if (next !== undefined && gate.costOf(next) < gate.costOf(call)) this.gates.wake(gate);
  };

  /** Puts a call behind the others of a gate. */
  private waits(call: ScheduledCall, gate: Gate): void {
    this.noteWaiting(call);
    this.calls.set(call, gate);
    gate.add(call);
  }

  private noteWaiting(call: ScheduledCall): void {
    if (call.hasWaited) return;
    call.hasWaited = true;
    this.tallies.waits(call.charges);
  }

  /** Lets the next calls of a gate ask, unless it sleeps or others ask. */
  private pump(gate: Gate): void {
    // Not by recursion: a store in the process answers at once, and thousands of calls may wait.
    gate.isPumping = true;
    while (gate.asking === 0 && gate.cancelTimer === undefined && !this.isClosed) {
      const taken = gate.take();
      if (taken.length === 0) {
        this.gates.dropIdle(gate);
        break;
      }
      const asking = taken.filter((call) => !this.waitsElsewhere(call, gate));
      gate.wasRejected = false;
      gate.asking = asking.length;
      for (const call of asking) this.calls.set(call, undefined);
      for (const call of asking) this.askAt(gate, call);
    }
    gate.isPumping = false;
  }

  /** Puts the next call of a gate behind an earlier one that waits for another policy of both: it would take what that one lacks. */
  private waitsElsewhere(call: ScheduledCall, gate: Gate): boolean {
    const ahead = this.gates.ahead(call, gate);
    if (ahead !== undefined) this.waits(call, ahead);
    return ahead !== undefined;
  }

  /** @param gate the gate at which the call is the next one; undefined: it is new */
  private askAt(gate: Gate | undefined, call: ScheduledCall): void {
    unawaited(
      attempt<Judgement, void>(
        () => this.engine.decide(call.charges),
        (judgement) => {
          this.answered(call, gate, judgement);
          this.endRound(gate);
        },
        (error) => {
          if (call.isOver) return this.endRound(gate);
          if (error instanceof LimiterUnavailableError) this.failed(call, gate, error);
          else call.leave(error);
          return this.endRound(gate);
        },
      ),
    );
  }

  /**
   * Takes in the answer to a call's question.
   *
   * @param gate at which the call was the next one; undefined: it is new
   */
  answered(call: ScheduledCall, gate: Gate | undefined, judgement: Judgement): void {
    const { decision } = judgement;
    if (decision.allowed) {
      if (gate !== undefined) gate.room = Math.min(...decision.policies.map(({ remaining }) => remaining));
      const turn = this.turnOf(judgement);
      if (call.isOver) this.refund(turn);
      else this.depart(call, turn, decision.delayMs);
    } else if (!call.isOver) this.waitFor(call, gate, judgement);
  }

  /** Keeps what an allowed judgement has taken. */
  turnOf({ receipts }: Judgement): Turn {
    const leases = this.holds.leasesOf(receipts);
    for (const lease of leases) lease.keep();
    return { receipts, leases };
  }

  /** Passes a call that was charged: at its departure slot, if it has one. */
  private depart(call: ScheduledCall, turn: Turn, delayMs: number): void {
    if (delayMs === 0) return call.pass(turn);
    const leftMs = this.leftOf(call);
    call.departing = turn;
    if (delayMs >= leftMs) return call.leave(this.late(call, delayMs - leftMs));
    this.noteWaiting(call);
    return call.after(this.settings.timer, delayMs, () => this.atSlot(call, turn));
  }

  /** Passes a call at its departure slot, unless its policies were paused meanwhile: then it waits for another slot. */
  private atSlot(call: ScheduledCall, turn: Turn): void {
    const charges = call.charges.filter(({ shadow }) => !shadow);
    const own = charges.map(({ key }) => this.gates.pausedFor(key));
    const { stopped } = this;
    const answer = stopped === undefined || Math.max(...own) > 0 ? own : stopped(charges);
    unawaited(
      andThen(answer, (waits) => {
        if (call.isOver) return;
        call.departing = undefined;
        const ms = Math.max(...waits);
        if (ms <= 0) return call.pass(turn);
        this.refund(turn);
        this.waitBehind({ charge: charges[waits.indexOf(ms)]!, ms, isCertain: true }, call, undefined, ms);
      }),
    );
  }

  /** Lets a call wait for what rejects it. */
  waitFor(call: ScheduledCall, asked: Gate | undefined, judgement: Judgement): void {
    let blocker: Blocker;
    try {
      blocker = blockerOf(call.charges, judgement);
    } catch (error) {
      return call.leave(error);
    }
    this.waitBehind(blocker, call, asked, napOf(blocker, judgement.decision.decidedBy));
  }

  private waitBehind(
    { charge, ms, isCertain }: Blocker,
    call: ScheduledCall,
    asked: Gate | undefined,
    napMs: number,
  ): void {
    if ((isCertain && ms >= this.leftOf(call) && call.waits.maxWaitMs !== Infinity) || call.waits.maxWaitMs === 0) {
      return call.leave(this.late(call, ms === Infinity ? BLOCKED_RETRY_MS : ms));
    }
    return this.waitAt(this.gates.of(charge), call, asked, napMs, isCertain, ms);
  }

  /** Lets a call wait that the limiter could not decide on. */
  failed(call: ScheduledCall, asked: Gate | undefined, error: LimiterUnavailableError): void {
    const { retryAfterMs } = error;
    call.cause = error;
    if (call.waits.maxWaitMs === 0) return call.leave(error);
    return this.waitAt(asked ?? this.gates.of(call.charges[0]!), call, asked, retryAfterMs, false);
  }

  private waitAt(
    gate: Gate,
    call: ScheduledCall,
    asked: Gate | undefined,
    napMs: number,
    isCertain: boolean,
    ms = napMs,
  ): void {
    // The first rejection of a round says when to ask again.
    const says = gate === asked ? !gate.wasRejected : gate.isIdle;
    if (gate === asked) gate.wasRejected = true;
    this.waits(call, gate);
    if (says) this.gates.sleep(gate, isCertain ? ms : gate.estimate(napMs), isCertain, napMs);
  }

  private endRound(gate: Gate | undefined): void {
    if (gate === undefined || --gate.asking > 0) return;
    if (gate.wasRejected) gate.shrink();
    else gate.grow(gate.room);
    if (gate.wasWoken) this.gates.rouse(gate);
    const pauseMs = this.gates.pausedFor(gate.stateKey);
    if (pauseMs > 0 && gate.cancelTimer === undefined) this.gates.sleep(gate, pauseMs, true);
    if (!gate.isPumping) this.pump(gate);
  }

  private leftOf({ waits: { deadline } }: ScheduledCall): number {
    return deadline - this.settings.nowMs();
  }

  private late({ charges, waits, cause }: ScheduledCall, retryAfterMs = 1000): CallWaitError {
    const names = charges.map(({ policy }) => `'${policy.name}'`).join(', ');
    return new CallWaitError(names, waits.maxWaitMs, retryAfterMs, cause);
  }

  /** Refunds a call that does not run: at most once, best effort, never beyond the limit. */
  refund({ receipts, leases }: Turn): void {
    for (const lease of leases) lease.release();
    const held = new Set(leases.map(({ index }) => index));
    this.engine.refund(receipts.filter(({ index }) => !held.has(index)));
    this.gates.freedSoon(receipts.map(({ charge }) => charge.key));
  }
}

/** The end of a call. @param left undefined: the call got its turn */
function resultOf({ hasWaited, waits }: ScheduledCall, left: { readonly error: unknown } | undefined): ScheduledResult {
  if (left === undefined) return hasWaited ? 'waited' : 'atOnce';
  const { error } = left;
  if (error instanceof CallWaitError) return 'late';
  if (error instanceof LimiterClosedError) return 'closed';
  return waits.signal?.aborted === true && error === waits.signal.reason ? 'aborted' : 'failed';
}
