import { type Charge, reserves, type StateEntry, takes } from '../../stores/charge.js';
import type { ChargeReceipt, ChargeVerdict, Verdict } from '../../stores/store.js';
import { ESTIMATED_RETRY } from '../../charges/judgement.js';
import { type Answer, attempt } from '../../util/answer.js';
import { flatten } from '../../util/flat-text.js';

/** Microseconds for which an unsettled charge counts as open: an application may forget to settle it. */
const LONGEST_OPEN = 600_000_000;
/** The most open charges to track: for one key (the newest), and for all keys. Other charges count as final. */
const MAX_OF_KEY = 1_000;
const MAX_OPEN = 100_000;

/** Keys to check for each charge that is opened, and for each new key: more than one, so that sweeping outruns growth. */
const SWEEP = 2;
/** The most keys to keep without an open charge: most clients return, and a new key costs more than a charge. */
const MAX_IDLE = 10_000;

/** The keys of one policy. */
interface OpenPolicy {
  readonly policyKey: string | undefined;
  /** The number of known keys. */
  known: number;
  /** The number of busy keys: with an open charge, or an unanswered reservation. */
  busy: number;
}

/** The open charges of one key. */
class OpenKey implements StateEntry {
  /** Reservations that the store has not answered. */
  asking = 0;
  /** The receipts in the order of `resetAt`. */
  receipts: ChargeReceipt[] = [];

  /** @param home undefined once the key is forgotten */
  constructor(
    readonly key: string,
    readonly policy: OpenPolicy,
    public home: OpenCharges | undefined,
  ) {}

  get isIdle(): boolean {
    return this.asking === 0 && this.receipts.length === 0;
  }
}

/**
 * Tracks the charges of this process that a settlement may still refund. A rejection that only these charges cause ends when
 * they are settled, at an unknown time: its `retryAfter` is then an estimate.
 *
 * The store and the fallback have one each. Only policies that reserve pay for it: other policies only check that they have no
 * open charge.
 */
export class OpenCharges {
  /** The busy keys, and some idle ones. */
  private readonly keys = new Map<string, OpenKey>();
  private readonly policies = new Map<string | undefined, OpenPolicy>();
  /** Iterates over all keys, for `sweep`. */
  private hand = this.keys.entries();
  /** The number of busy keys. */
  private busy = 0;
  private count = 0;

  /** @param uncertain called with the keys of a request whose rejection is an estimate */
  constructor(private readonly uncertain: (keys: readonly string[]) => void = () => undefined) {}

  /** The number of known open charges. */
  get size(): number {
    return this.count;
  }

  /** Whether no charge is open that a settlement may still refund. */
  get isIdle(): boolean {
    return this.busy === 0;
  }

  /** Whether the charge's policy has something open for its identity. */
  isOpen(charge: Charge): boolean {
    if (this.busy === 0) return false;
    const policy = this.policies.get(charge.policyKey);
    return policy !== undefined && policy.busy > 0 && this.known(charge)?.isIdle === false;
  }

  /** Whether a request has to be decided by `decide`. */
  concerns(charges: readonly Charge[]): boolean {
    for (let i = 0; i < charges.length; i++) if (reserves(charges[i]!) || this.isOpen(charges[i]!)) return true;
    return false;
  }

  /**
   * Decides a request, and marks estimates: the `retryAfter` of a rejection that open charges alone cause, and a `remaining` of
   * 0 that the settlement of the request itself may raise.
   *
   * @param ask asks the store
   */
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Verdict): Verdict;
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Answer<Verdict>): Answer<Verdict>;
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Answer<Verdict>): Answer<Verdict> {
    const asked = this.begin(charges);
    return attempt(
      () => ask(asked),
      (verdict) => this.marked(charges, verdict),
      (error) => {
        this.end(charges);
        throw error;
      },
    );
  }

  /** Ends an open charge: it was settled, or never will be. */
  close(charge: Charge, receipt: ChargeReceipt): void {
    const open = this.known(charge);
    const at = open?.receipts.lastIndexOf(receipt) ?? -1;
    if (open === undefined || at < 0) return;
    if (open.receipts.length === 1) open.receipts.length = 0;
    else open.receipts.splice(at, 1);
    this.count--;
    this.rest(open);
  }

  /** Forgets the open charges of keys whose states are reset. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      const open = this.keys.get(key);
      if (open === undefined) continue;
      if (open.receipts.length === 0) continue;
      this.count -= open.receipts.length;
      open.receipts = [];
      this.rest(open);
    }
  }

  /** The charges as the store is asked about them. A reservation that is under way may be open when the answer arrives. */
  private begin<C extends Charge>(charges: readonly C[]): readonly C[] {
    let asked: C[] | undefined;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      if (reserves(charge) || !this.isOpen(charge)) continue;
      asked ??= [...charges];
      asked[i] = { ...charge, shortfall: true };
    }
    for (let i = 0; i < charges.length; i++) {
      if (!reserves(charges[i]!)) continue;
      const open = this.keyOf(charges[i]!);
      if (open.isIdle) this.wake(open);
      open.asking++;
    }
    return asked ?? charges;
  }

  private end(charges: readonly Charge[]): void {
    for (let i = 0; i < charges.length; i++) {
      const open = reserves(charges[i]!) ? this.known(charges[i]!) : undefined;
      if (open === undefined) continue;
      open.asking--;
      this.rest(open);
    }
  }

  private marked(charges: readonly Charge[], verdict: Verdict): Verdict {
    const { at, allowed, charges: verdicts } = verdict;
    let estimates: ChargeVerdict[] | undefined;
    for (let i = 0; i < verdicts.length; i++) {
      const given = verdicts[i]!;
      const one = given.allowed
        ? this.markAllowed(charges[i]!, given, verdict)
        : this.markRejected(charges[i]!, given, at);
      if (one === given) continue;
      estimates ??= [...verdicts];
      estimates[i] = one;
    }
    this.end(charges);
    if (estimates === undefined) return verdict;
    if (!allowed) this.uncertain(charges.flatMap(({ key, shardKeys = [] }) => [key, ...shardKeys]));
    return { allowed, at, charges: estimates };
  }

  private markAllowed(charge: Charge, verdict: ChargeVerdict, { allowed, at }: Verdict): ChargeVerdict {
    const { receipt, remaining } = verdict;
    if (!allowed || !reserves(charge) || !takes(charge) || receipt?.algorithm.refunds === undefined) return verdict;
    this.open(charge, receipt, at);
    return remaining === 0 ? { ...verdict, estimated: true } : verdict;
  }

  private markRejected(charge: Charge, verdict: ChargeVerdict, at: number): ChargeVerdict {
    const { shortfall, retryAfter, blockedFor = 0 } = verdict;
    const open = shortfall && this.known(charge);
    // A refund does not shorten a block.
    if (open === undefined || (blockedFor > 0 && retryAfter === blockedFor)) return verdict;
    this.dropOld(open, at);
    if (!shortfall!.fitsWithout(open.receipts)) return verdict;
    return { ...verdict, retryAfter: Math.max(blockedFor, Math.min(retryAfter, ESTIMATED_RETRY)), estimated: true };
  }

  private open(charge: Charge, receipt: ChargeReceipt, at: number): void {
    this.sweep(at);
    const { receipts } = this.keyOf(charge);
    if (receipts.length >= MAX_OF_KEY) {
      receipts.shift();
      this.count--;
    }
    if (this.count >= MAX_OPEN) return;
    let i = receipts.length;
    while (i > 0 && receipts[i - 1]!.resetAt > receipt.resetAt) i--;
    if (i === receipts.length) receipts.push(receipt);
    else receipts.splice(i, 0, receipt);
    this.count++;
  }

  /** The key of a charge, if it is known. A charge that may be used again remembers it. */
  private known(charge: Charge): OpenKey | undefined {
    const { openKey: known, key } = charge;
    if (known === undefined) return this.keys.get(key);
    // A copy of the charge may have another key.
    if (known.home === this && known.key === key) return known as OpenKey;
    const open = this.keys.get(key);
    if (open !== undefined) charge.openKey = open;
    return open;
  }

  private keyOf(charge: Charge): OpenKey {
    const known = this.known(charge);
    if (known !== undefined) return known;
    this.sweep(undefined); // most requests of a new key may be rejected, and open nothing
    const { key, policyKey } = charge;
    let policy = this.policies.get(policyKey);
    if (policy === undefined) this.policies.set(policyKey, (policy = { policyKey, known: 0, busy: 0 }));
    policy.known++;
    flatten(key);
    const open = new OpenKey(key, policy, this);
    this.keys.set(key, open);
    return open;
  }

  /** Marks a key as busy. */
  private wake({ policy }: OpenKey): void {
    policy.busy++;
    this.busy++;
  }

  /** Marks a key as idle if it has no open charge left. */
  private rest(open: OpenKey): void {
    if (!open.isIdle) return;
    open.policy.busy--;
    this.busy--;
  }

  /**
   * Checks the next keys: drops charges that were not settled in time, and forgets idle keys while there are too many.
   *
   * @param at the current time; undefined if it is not known: then no charge is dropped
   */
  private sweep(at: number | undefined): void {
    for (let looks = 0; looks < SWEEP; looks++) {
      const next = this.hand.next();
      if (next.done === true) {
        this.hand = this.keys.entries();
        return;
      }
      const [key, open] = next.value;
      if (at !== undefined) this.dropOld(open, at);
      if (open.isIdle && this.keys.size - this.busy > MAX_IDLE) this.forgetKey(key, open);
    }
  }

  private forgetKey(key: string, open: OpenKey): void {
    const { policy } = open;
    this.keys.delete(key);
    open.home = undefined;
    if (--policy.known === 0) this.policies.delete(policy.policyKey);
  }

  private dropOld(open: OpenKey, at: number): void {
    const { receipts } = open;
    if (receipts.length === 0 || receipts[0]!.at + LONGEST_OPEN > at) return;
    open.receipts = receipts.filter((receipt) => receipt.at + LONGEST_OPEN > at);
    this.count -= receipts.length - open.receipts.length;
    this.rest(open);
  }
}
