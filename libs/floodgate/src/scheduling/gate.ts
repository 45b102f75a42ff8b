import type { PolicyCharge } from '../charges/policy-charge.js';
import type { ScheduledCall } from './scheduled-call.js';

/** The most calls that ask the store at once while others wait: one batch of the store. */
const MOST_AT_ONCE = 32;
/** Milliseconds before the first further question where the store only knows an estimate. Each one after it doubles. */
const FIRST_ESTIMATE_MS = 25;
/** Calls that have left may stay in the list up to this number, and beyond it while they are fewer than the others. */
const FEW = 32;

/**
 * The calls that wait for one policy and one identity, in their order. Only the first one asks the store. Once it gets its turn,
 * two ask, then four: a herd would ask in vain, and one at a time would be slower than the limit.
 */
export class Gate {
  /** Calls whose questions are under way. */
  asking = 0;
  /** Whether a call of this round was rejected. */
  wasRejected = false;
  /** Whether something was freed or changed while its calls asked. */
  wasWoken = false;
  isPumping = false;
  /** What the policies had left after the last call of the round that got its turn. */
  room = Infinity;
  /** The instant until which nothing is asked. */
  opensAt = 0;
  /** Whether nothing is known that can open the gate sooner. */
  isCertain = false;
  /** The instant at which a pause ends. */
  pausedUntil = 0;
  cancelTimer: (() => void) | undefined;
  private waiting: ScheduledCall[] = [];
  /** The first call of the last round. */
  private asked: ScheduledCall | undefined;
  /** The index of the first call that has not left: an abort of thousands must not look at all before it, each time. */
  private head = 0;
  private gone = 0;
  private round = 1;
  private estimates = 0;

  /**
   * @param key of the state, and the headroom of its calls
   * @param stateKey the key of the state: calls with another headroom have a gate of their own
   */
  constructor(
    readonly key: string,
    readonly stateKey: string,
  ) {}

  /** How many calls wait here; those whose questions are under way are not among them. */
  get size(): number {
    return this.waiting.length - this.gone;
  }

  /** Whether no call waits, asks or sleeps here. */
  get isIdle(): boolean {
    return this.size === 0 && this.asking === 0 && this.cancelTimer === undefined;
  }

  /** The call that asks next. */
  get next(): ScheduledCall | undefined {
    return this.waiting[this.head];
  }

  /** The question of the first call here, or of the call whose question is under way. */
  get charges(): readonly PolicyCharge[] {
    return (this.next ?? this.asked)?.charges ?? [];
  }

  /** Whether a call waits or asks here that came before `order`. */
  hasBefore(order: number): boolean {
    return (this.next?.order ?? Infinity) < order || (this.asking > 0 && this.asked!.order < order);
  }

  /** Adds a call in its order: one that was rejected goes before those that came after it. */
  add(call: ScheduledCall): void {
    const { waiting } = this;
    let [from, to] = [0, waiting.length];
    if (to > 0 && waiting[to - 1]!.order < call.order) from = to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (waiting[middle]!.order < call.order) from = middle + 1;
      else to = middle;
    }
    if (from === waiting.length) waiting.push(call);
    else waiting.splice(from, 0, call);
    this.head = Math.min(this.head, from);
  }

  /** Notes that a call of the list has left it. Returns the call behind it if it was the first one. */
  forget(call: ScheduledCall): ScheduledCall | undefined {
    const wasFirst = this.waiting[this.head] === call;
    this.gone++;
    if (this.gone > FEW && this.gone * 2 >= this.waiting.length) {
      this.waiting = this.waiting.filter(({ isOver }) => !isOver);
      this.gone = 0;
      this.head = 0;
    }
    this.skipGone();
    return wasFirst ? this.next : undefined;
  }

  private skipGone(): void {
    while (this.waiting[this.head]?.isOver === true) this.head++;
  }

  /** Takes the calls that ask next. */
  take(): ScheduledCall[] {
    const taken: ScheduledCall[] = [];
    let i = 0;
    for (; i < this.waiting.length && taken.length < this.round; i++) {
      const call = this.waiting[i]!;
      if (call.isOver) this.gone--;
      // A call that takes less could pass where the one before it, which asks with it, is rejected.
      else if (taken.length > 0 && this.costOf(call) < this.costOf(taken.at(-1)!)) break;
      else taken.push(call);
    }
    this.asked = taken[0];
    this.waiting.splice(0, i);
    this.head = 0;
    this.skipGone();
    return taken;
  }

  /** What a call takes of the state that it waits for. */
  costOf({ charges }: ScheduledCall): number {
    return charges.find(({ key }) => key === this.stateKey)?.cost ?? 0;
  }

  /**
   * The calls of a round got their turns: more of them may ask.
   *
   * @param room requests of cost 1 that may still pass, as the store has said; the next question is then one in vain at most
   */
  grow(room: number): void {
    this.round = Math.max(1, Math.min(MOST_AT_ONCE, this.round * 2, room));
    this.estimates = 0;
  }

  /** One call of the round was rejected. */
  shrink(): void {
    this.round = 1;
  }

  /** Milliseconds until the next question, where the store's answer is an estimate of at most `ms`. */
  estimate(ms: number): number {
    return Math.min(ms, FIRST_ESTIMATE_MS * 2 ** Math.min(this.estimates++, 16));
  }

  /** Something was freed: the next question comes early again. */
  resetEstimates(): void {
    this.estimates = 0;
  }
}

/** What the calls of a gate have in common. */
export interface StateOfCalls {
  readonly key: string;
  readonly headroom?: number | undefined;
}

/**
 * The key of the gate at which a call waits. Calls of a lower priority leave headroom and fit later: they must not stand in
 * front of the others.
 */
export function gateKeyOf({ key, headroom = 0 }: StateOfCalls): string {
  return headroom === 0 ? key : `${key}\n${headroom}`;
}
