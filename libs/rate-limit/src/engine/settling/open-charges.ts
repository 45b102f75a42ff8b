import { type Charge, reserves, takes } from '../../stores/charge.js';
import type { ChargeReceipt, ChargeVerdict, Verdict } from '../../stores/store.js';
import { type Answer, attempt } from '../../util/answer.js';
import { flatten } from '../../util/flat-text.js';

/** Microseconds after which a rejected request may ask again, where what it lacks may be refunded or released at any time. */
export const ESTIMATED_RETRY = 1_000_000;

/** Microseconds for which a charge counts as open that nobody settles: an application may forget it. */
const LONGEST_OPEN = 600_000_000;
/** Open charges known of one key, the newest; and of all keys. Others count as certain. */
const MAX_OF_KEY = 1_000;
const MAX_OPEN = 100_000;

/** What is open under one key. */
class OpenKey {
  /** Reservations that the store has not answered. */
  asking = 0;
  /** In the order of their `resetAt`. */
  receipts: ChargeReceipt[] = [];

  constructor(readonly policyKey: string | undefined) {}
}

/**
 * The charges of this process that a settlement may still refund: it was told of none yet. A rejection that they alone cause ends
 * when they are settled, which nobody can foresee. Its `retryAfter` is then an estimate.
 *
 * One stands beside each state: the store's, and that of the fallback. Only policies that reserve pay for it. Others look whether
 * their policy has something open.
 */
export class OpenCharges {
  /** The keys that something is open under or asked for, the last one used last. */
  private readonly keys = new Map<string, OpenKey>();
  /** How many of the keys are of a policy. */
  private readonly policies = new Map<string | undefined, number>();
  private count = 0;

  /** @param uncertain called with the keys of a request whose rejection is an estimate */
  constructor(private readonly uncertain: (keys: readonly string[]) => void = () => undefined) {}

  /** Charges that are known to be open. */
  get size(): number {
    return this.count;
  }

  /** Whether the charge's policy has something open for its identity. */
  isOpen({ policyKey, key }: Charge): boolean {
    return this.keys.size !== 0 && this.policies.has(policyKey) && this.keys.has(key);
  }

  /** Whether a request has to be decided by `decide`. */
  concerns(charges: readonly Charge[]): boolean {
    for (let i = 0; i < charges.length; i++) if (reserves(charges[i]!) || this.isOpen(charges[i]!)) return true;
    return false;
  }

  /**
   * Decides a request, and marks what is an estimate: the `retryAfter` of a rejection that open charges alone cause, and a `remaining`
   * of 0 that the settlement of the request itself may raise.
   *
   * @param ask asks the store
   */
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Verdict): Verdict;
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Answer<Verdict>): Answer<Verdict>;
  decide<C extends Charge>(charges: readonly C[], ask: (charges: readonly C[]) => Answer<Verdict>): Answer<Verdict> {
    const asked = this.begin(charges);
    return attempt(
      () => ask(asked),
      (verdict) => this.told(charges, verdict),
      (error) => {
        this.end(charges);
        throw error;
      },
    );
  }

  /** The charge was settled, or never will be. */
  close({ key }: Charge, receipt: ChargeReceipt): void {
    const open = this.keys.get(key);
    const at = open?.receipts.lastIndexOf(receipt) ?? -1;
    if (open === undefined || at < 0) return;
    open.receipts.splice(at, 1);
    this.count--;
    this.drop(key, open);
  }

  /** Forgets what is open under keys whose states are forgotten. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      const open = this.keys.get(key);
      if (open === undefined) continue;
      this.count -= open.receipts.length;
      open.receipts = [];
      this.drop(key, open);
    }
  }

  /** The charges as the store has to be asked. A reservation that is asked at the same time may be open at the answer. */
  private begin<C extends Charge>(charges: readonly C[]): readonly C[] {
    const asked = charges.map((charge) =>
      !reserves(charge) && this.isOpen(charge) ? { ...charge, shortfall: true } : charge,
    );
    for (const charge of charges) if (reserves(charge)) this.keyOf(charge).asking++;
    return asked;
  }

  private end(charges: readonly Charge[]): void {
    for (const charge of charges) {
      const open = reserves(charge) ? this.keys.get(charge.key) : undefined;
      if (open === undefined) continue;
      open.asking--;
      this.drop(charge.key, open);
    }
  }

  private told(charges: readonly Charge[], verdict: Verdict): Verdict {
    const { at, allowed } = verdict;
    let changed = false;
    const told = verdict.charges.map((one, i) => {
      const said = one.allowed ? this.toldAllowed(charges[i]!, one, verdict) : this.toldRejected(charges[i]!, one, at);
      changed ||= said !== one;
      return said;
    });
    this.end(charges);
    if (!changed) return verdict;
    if (!allowed) this.uncertain(charges.flatMap(({ key, shardKeys = [] }) => [key, ...shardKeys]));
    return { allowed, at, charges: told };
  }

  private toldAllowed(charge: Charge, said: ChargeVerdict, { allowed, at }: Verdict): ChargeVerdict {
    const { receipt, remaining } = said;
    if (!allowed || !reserves(charge) || !takes(charge) || receipt?.algorithm.refunds === undefined) return said;
    this.open(charge, receipt, at);
    return remaining === 0 ? { ...said, estimated: true } : said;
  }

  private toldRejected({ key }: Charge, said: ChargeVerdict, at: number): ChargeVerdict {
    const { shortfall, retryAfter, blockedFor = 0 } = said;
    const open = shortfall && this.keys.get(key);
    // A block ends when it ends, whatever is refunded.
    if (open === undefined || (blockedFor > 0 && retryAfter === blockedFor)) return said;
    this.dropOld(open, at);
    if (!shortfall!.fitsWithout(open.receipts)) return said;
    return { ...said, retryAfter: Math.max(blockedFor, Math.min(retryAfter, ESTIMATED_RETRY)), estimated: true };
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
    receipts.splice(i, 0, receipt);
    this.count++;
  }

  private keyOf({ key, policyKey }: Charge): OpenKey {
    let open = this.keys.get(key);
    if (open === undefined) {
      flatten(key);
      open = new OpenKey(policyKey);
      this.policies.set(policyKey, (this.policies.get(policyKey) ?? 0) + 1);
    } else this.keys.delete(key); // so that the map's order is that of their use
    this.keys.set(key, open);
    return open;
  }

  /** Drops what nobody has settled: of the key that was not used for the longest time. */
  private sweep(at: number): void {
    for (const [key, open] of this.keys) {
      this.dropOld(open, at);
      this.drop(key, open);
      return;
    }
  }

  private dropOld(open: OpenKey, at: number): void {
    const { receipts } = open;
    if (receipts.length === 0 || receipts[0]!.at + LONGEST_OPEN > at) return;
    open.receipts = receipts.filter((receipt) => receipt.at + LONGEST_OPEN > at);
    this.count -= receipts.length - open.receipts.length;
  }

  private drop(key: string, { asking, receipts, policyKey }: OpenKey): void {
    if (asking > 0 || receipts.length > 0) return;
    this.keys.delete(key);
    const others = this.policies.get(policyKey)! - 1;
    if (others === 0) this.policies.delete(policyKey);
    else this.policies.set(policyKey, others);
  }
}
