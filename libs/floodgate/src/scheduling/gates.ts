import type { Timer } from '../stores/timer.js';
import { EVERYONE, type OverrideKey } from '../layers/overrides/override-text.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import { Gate, gateKeyOf, type StateOfCalls } from './gate.js';
import type { ScheduledCall } from './scheduled-call.js';

/** The longest time without a question: an operator may have changed the limit meanwhile. */
const LONGEST_NAP_MS = 30_000;
/** The most headrooms to wake the calls of: a class of priority has one, and overrides may add others. */
const MAX_HEADROOMS = 100;

/** The settings of a queue's gates. */
export interface GateSettings {
  readonly maxQueued: number;
  readonly timer: Timer;
  /** Milliseconds of the clock that the timer follows. */
  readonly nowMs: () => number;
}

/** The gates at which calls wait: which there are, until when each sleeps or is paused, and what wakes it. */
export class Gates {
  private readonly byKey = new Map<string, Gate>();
  /** The headrooms of the calls that have waited: one for each class of priority. */
  private readonly headrooms = new Set<number>();
  private closed = false;

  /** @param pump lets the next calls of a gate ask */
  constructor(
    private readonly settings: GateSettings,
    private readonly pump: (gate: Gate) => void,
  ) {}

  /** The gate of the calls that a state rejects. */
  of(charge: PolicyCharge | StateOfCalls): Gate {
    const key = gateKeyOf(charge);
    let gate = this.byKey.get(key);
    if (gate === undefined) this.byKey.set(key, (gate = new Gate(key, charge.key)));
    const { headroom = 0 } = charge;
    if (headroom > 0 && this.headrooms.size < MAX_HEADROOMS) this.headrooms.add(headroom);
    return gate;
  }

  /** The gate behind which a call with these charges has to wait; undefined: it may ask at once. */
  before(charges: readonly PolicyCharge[]): Gate | undefined {
    if (this.byKey.size === 0) return undefined;
    for (const charge of charges) {
      if (charge.shadow) continue;
      const gate = this.byKey.get(gateKeyOf(charge));
      if (gate !== undefined) return gate;
      // A pause stops the calls of all priorities.
      if (this.pausedFor(charge.key) > 0) return this.byKey.get(charge.key);
    }
    return undefined;
  }

  /** The gate where an earlier call waits for another policy of the call that is next at `gate`; undefined: there is none. */
  ahead({ charges, order }: ScheduledCall, gate: Gate): Gate | undefined {
    if (this.byKey.size === 1) return undefined;
    for (const charge of charges) {
      const other = charge.shadow ? undefined : this.byKey.get(gateKeyOf(charge));
      if (other !== undefined && other !== gate && other.hasBefore(order)) return other;
    }
    return undefined;
  }

  /**
   * Stops the calls of a policy for an identity.
   *
   * @param key of its state
   * @returns whether it does: false where as many gates are there as may be
   */
  pause(key: string, ms: number): boolean {
    if (this.closed || (this.byKey.size >= 2 * this.settings.maxQueued && !this.byKey.has(key))) return false;
    const gate = this.of({ key });
    const until = this.settings.nowMs() + ms;
    if (until <= gate.pausedUntil) return true;
    gate.pausedUntil = until;
    if (gate.asking === 0 && until > gate.opensAt) this.sleep(gate, ms, true);
    return true;
  }

  /**
   * Ends the pause of a key: what else rejects its calls decides.
   *
   * @param ms one that lasts longer stays; default: it ends in any case
   */
  endPause(key: string, ms = Infinity): void {
    const gate = this.byKey.get(key);
    if (gate === undefined || gate.pausedUntil === 0 || this.pausedFor(key) > ms) return;
    gate.pausedUntil = 0;
    this.freed(key);
    this.dropIdle(gate);
  }

  /**
   * Wakes the gates whose calls an override concerns.
   *
   * @param changed undefined: any may have changed
   */
  overridden(changed: OverrideKey | undefined): void {
    for (const gate of this.byKey.values()) {
      if (changed === undefined || gate.charges.some((charge) => isConcerned(charge, changed))) this.wake(gate);
    }
  }

  /** Milliseconds for which a key is still paused in this process. */
  pausedFor(key: string): number {
    return Math.max(0, (this.byKey.get(key)?.pausedUntil ?? 0) - this.settings.nowMs());
  }

  /** Wakes the gates of these keys once refunds and releases of this turn of the event loop are on their way. */
  freedSoon(keys: readonly string[]): void {
    if (this.byKey.size === 0) return;
    setImmediate(() => {
      for (const key of keys) this.freed(key);
    });
  }

  /** Lets the calls of a gate ask again, as something was released, refunded or reset. */
  wake(gate: Gate | undefined): void {
    if (gate === undefined || this.pausedFor(gate.stateKey) > 0) return;
    // The answers that are under way may be from before.
    if (gate.asking > 0) gate.wasWoken = true;
    else if (gate.size > 0) {
      gate.resetEstimates();
      this.open(gate);
    }
  }

  /** Ends the sleep of a gate that was woken while its calls asked. Its next calls ask then. */
  rouse(gate: Gate): void {
    gate.wasWoken = false;
    gate.resetEstimates();
    gate.cancelTimer?.();
    gate.cancelTimer = undefined;
    gate.isCertain = false;
  }

  /**
   * @param isCertain whether nothing opens the gate earlier, as far as is known
   * @param napMs until the next question, where that comes earlier
   */
  sleep(gate: Gate, ms: number, isCertain: boolean, napMs = ms): void {
    const { nowMs, timer } = this.settings;
    gate.cancelTimer?.();
    gate.opensAt = nowMs() + ms;
    gate.isCertain = isCertain;
    gate.cancelTimer = timer(Math.min(ms, napMs, LONGEST_NAP_MS), () => this.open(gate));
  }

  /** Forgets a gate that nothing waits at. A pause stays. */
  dropIdle(gate: Gate): void {
    if (gate.size > 0 || gate.asking > 0 || this.pausedFor(gate.stateKey) > 0) return;
    gate.cancelTimer?.();
    gate.cancelTimer = undefined;
    this.byKey.delete(gate.key);
  }

  /** Forgets all gates, and so ends all pauses. */
  close(): void {
    this.closed = true;
    for (const gate of this.byKey.values()) gate.cancelTimer?.();
    this.byKey.clear();
  }

  private freed(key: string): void {
    this.wake(this.byKey.get(key));
    for (const headroom of this.headrooms) this.wake(this.byKey.get(gateKeyOf({ key, headroom })));
  }

  /** Ends the sleep of a gate. */
  private open(gate: Gate): void {
    gate.cancelTimer?.();
    gate.cancelTimer = undefined;
    gate.isCertain = false;
    const pauseMs = this.pausedFor(gate.stateKey);
    if (pauseMs > 0) this.sleep(gate, pauseMs, true);
    else this.pump(gate);
  }
}

/** Whether an override is about a charge. */
function isConcerned({ policy, identity }: PolicyCharge, changed: OverrideKey): boolean {
  return [undefined, EVERYONE, identity].includes(changed.identity) && policy.name === changed.policy;
}
