import type { Algorithm } from '../../algorithms/algorithm.js';
import type { TokenLeaseCounts } from '../../metrics/stats.js';
import type { Charge, ChargeReceipt, ChargeVerdict, Verdict } from '../../stores/store.js';
import { processTimer, type Timer } from '../../stores/timer.js';
import { isPromise } from '../../util/is-promise.js';
import { flatten } from '../../util/own-text.js';
import { RecentMap } from '../../util/recent-map.js';
import type { PolicyCharge } from '../policy-charge.js';
import { type Lease, leaseOf } from './lease.js';
import { LeasedKey } from './leased-key.js';

/** Keys whose demand is known, and which can have leases: those that were asked for last. */
const MAX_KEYS = 10_000;
/** How often the leases of a key are looked after, in parts of their time. */
const LOOKS = 4;
/** Parts of that time without use after which tokens are returned. */
const IDLE = 2;

export interface TokenLeaseSettings {
  /** Asks the store within the deadline. */
  readonly ask: (charges: readonly Charge[]) => Verdict | Promise<Verdict>;
  /** Refunds without waiting. */
  readonly refund: (receipts: readonly ChargeReceipt[]) => void;
  /** A rejection that is certain. */
  readonly denied: (charges: readonly Charge[]) => Verdict | undefined;
  /** Milliseconds of a clock that never steps; default the process's. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Default the process's. */
  readonly timer?: Timer | undefined;
}

/** A lease that has paid a charge of a request, until the request is decided. */
interface Payment {
  readonly entry: LeasedKey;
  readonly lease: Lease;
  readonly cost: number;
}

/**
 * Pays charges from tokens that the store has leased to this process ahead of demand. The store has charged each token before it
 * is used here, so the limit holds. What is lost, with an answer or with the process, counts as used.
 *
 * docs/leases.md describes it.
 */
export class TokenLeases {
  private keys: RecentMap<LeasedKey> | undefined;
  private readonly ask: TokenLeaseSettings['ask'];
  private readonly refund: TokenLeaseSettings['refund'];
  private readonly denied: TokenLeaseSettings['denied'];
  private readonly monotonicMs: () => number;
  private readonly timer: Timer;
  private readonly tokens = { leased: 0, returned: 0, expired: 0 };
  /** The keys that have leases, each of which a timer looks after. */
  private readonly holders = new Set<LeasedKey>();
  /** The calls that have not been answered. */
  private readonly calls = new Set<Promise<void>>();
  private isClosed = false;

  constructor({ ask, refund, denied, monotonicMs, timer }: TokenLeaseSettings) {
    this.ask = ask;
    this.refund = refund;
    this.denied = denied;
    this.monotonicMs = monotonicMs ?? (() => performance.now());
    this.timer = timer ?? processTimer;
  }

  get counts(): TokenLeaseCounts {
    return { ...this.tokens };
  }

  /**
   * Pays a request that leases can pay alone, and asks for leases that are due. Called once for each request, before `consume`.
   *
   * @returns undefined where the store has to be asked
   */
  pay(charges: readonly PolicyCharge[]): Verdict | undefined {
    if (!mayLease(charges)) return undefined;
    const now = this.monotonicMs();
    let isPaid = true;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      if (!isLeased(charge)) {
        isPaid = false;
        continue;
      }
      const entry = this.entryOf(charge);
      entry.demand.note(charge.cost, now);
      isPaid &&= entry.payer(charge.cost, now) !== undefined;
    }
    // Taken before leases are asked for: with the call for the next one, a lease may give back what the request costs.
    const payments = isPaid ? this.payments(charges, now) : undefined;
    for (let i = 0; i < charges.length; i++) {
      const entry = payments?.[i]?.entry ?? (isLeased(charges[i]!) ? this.entryOf(charges[i]!) : undefined);
      const want = entry?.wanted(now) ?? 0;
      if (want > 0) this.lease(entry!, want, now);
    }
    return payments && paidAlone(payments as readonly Payment[], now);
  }

  /** Asks the store about the charges that no lease pays. If it rejects them, the tokens go back to their leases. */
  consume(charges: readonly PolicyCharge[]): Verdict | Promise<Verdict> {
    if (!mayLease(charges)) return this.ask(charges);
    const now = this.monotonicMs();
    const payments = this.payments(charges, now);
    const rest = payments.every((payment) => payment === undefined)
      ? charges
      : charges.filter((_, i) => payments[i] === undefined);
    // A store that answers at once has just leased the tokens.
    if (rest.length === 0) return paidAlone(payments as readonly Payment[], now);
    for (const payment of payments) if (payment !== undefined) payment.lease.pending += payment.cost;
    let answer: Verdict | Promise<Verdict>;
    try {
      answer = (rest.length < charges.length ? this.denied(rest) : undefined) ?? this.ask(rest);
    } catch (error) {
      return this.undecided(payments, error);
    }
    return isPromise(answer)
      ? answer.then(
          (verdict) => this.conclude(charges, payments, verdict),
          (error: unknown) => this.undecided(payments, error),
        )
      : this.conclude(charges, payments, answer);
  }

  /** Forgets the leases of these keys: their tokens are not used any more, and count as used. */
  reset(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.keys?.get(key);
      if (entry === undefined) continue;
      this.keys!.delete(key);
      entry.isForgotten = true;
      entry.endAll();
      for (const lease of entry.ended.splice(0)) this.expire(lease);
    }
  }

  /** Asks for no more leases, and returns unused tokens within the store's deadline. What does not arrive counts as used. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const entry of this.holders) this.giveUp(entry);
    // The answer of a call that was under way may bring another lease.
    while (this.calls.size > 0) await Promise.all(this.calls);
  }

  private conclude(
    charges: readonly PolicyCharge[],
    payments: readonly (Payment | undefined)[],
    verdict: Verdict,
  ): Verdict {
    const now = this.monotonicMs();
    let next = 0;
    const verdicts = charges.map((charge, i) => {
      const payment = payments[i];
      if (payment !== undefined) {
        this.decided(payment, verdict.allowed);
        return unrefundable(payment.entry, verdict, now);
      }
      const said = verdict.charges[next++]!;
      if (isLeased(charge)) this.keys?.get(charge.key)?.told(verdict, said, now);
      return said;
    });
    return { allowed: verdict.allowed, at: verdict.at, charges: verdicts };
  }

  /** The store may have made the other charges, and the fallback decides: the tokens count as used. */
  private undecided(payments: readonly (Payment | undefined)[], error: unknown): never {
    for (const payment of payments) if (payment !== undefined) this.decided(payment, true);
    throw error;
  }

  /** Gives the tokens of a rejected request back to their lease, or to what goes on of it. */
  private decided({ lease, cost }: Payment, allowed: boolean): void {
    let live = lease;
    while (live.heir !== undefined) live = live.heir;
    live.pending -= cost;
    if (allowed) return;
    if (live.isOpen) live.left += cost;
    else this.tokens.expired += cost;
  }

  /** Takes the tokens of the charges that leases can pay. */
  private payments(charges: readonly PolicyCharge[], now: number): (Payment | undefined)[] {
    return charges.map((charge) => {
      const entry = isLeased(charge) ? this.keys?.get(charge.key) : undefined;
      if (entry === undefined || !entry.isOf(charge.algorithm, charge.policy.tokenLease!)) return undefined;
      const lease = entry.payer(charge.cost, now);
      if (lease === undefined) return undefined;
      lease.left -= charge.cost;
      entry.usedAt = now;
      return { entry, lease, cost: charge.cost };
    });
  }

  private entryOf(charge: PolicyCharge): LeasedKey {
    const { key, algorithm } = charge;
    const terms = charge.policy.tokenLease!;
    this.keys ??= new RecentMap(MAX_KEYS);
    let entry = this.keys.get(key);
    if (entry !== undefined && entry.isOf(algorithm, terms)) return entry;
    if (entry !== undefined) this.giveUp(entry);
    flatten(key);
    entry = new LeasedKey(charge, terms);
    this.keys.set(key, entry);
    return entry;
  }

  /**
   * Asks for a lease, and settles one that has ended in the same call.
   *
   * @param want 0 only settles
   */
  private lease(entry: LeasedKey, want: number, sentAt: number): void {
    if (this.isClosed && want > 0) return;
    const { algorithm } = entry;
    const settled = algorithm.tokenLease === undefined ? undefined : entry.settled(sentAt);
    const charge: Charge =
      algorithm.tokenLease === undefined
        ? { ...entry.charge, cost: want }
        : { ...entry.charge, algorithm: settling(algorithm, want, settled), cost: 1, mode: 'reserve' };
    // From here on a settled lease is the store's: it is never sent again, whatever becomes of the call.
    if (settled !== undefined) settled.isOpen = false;
    entry.isAsking = true;
    const answered = (verdict: Verdict): void => this.answered(entry, verdict, want, settled, sentAt);
    const failed = (): void => {
      entry.isAsking = false;
      entry.notBefore = this.monotonicMs() + entry.length;
      if (settled !== undefined) this.tokens.expired += settled.left;
    };
    try {
      const answer = this.ask([charge]);
      if (!isPromise(answer)) return answered(answer);
      const call = answer.then(answered, failed).finally(() => this.calls.delete(call));
      this.calls.add(call);
    } catch {
      failed();
    }
  }

  private answered(entry: LeasedKey, verdict: Verdict, want: number, settled: Lease | undefined, sentAt: number): void {
    const now = this.monotonicMs();
    entry.isAsking = false;
    // After its end the store may have forgotten it.
    if (settled !== undefined) this.tokens[sentAt < settled.endsAt ? 'returned' : 'expired'] += settled.left;
    const lease = want > 0 ? leaseOf(entry, verdict, want, sentAt, now) : undefined;
    if (entry.isForgotten) {
      // The reset has forgotten it in the store, too: to return it would return what others are charged since.
      if (lease !== undefined) this.tokens.leased += lease.granted;
      if (lease !== undefined) this.expire(lease);
      return;
    }
    entry.told(verdict, verdict.charges[0]!, now);
    if (lease === undefined) {
      // Too little is left. Until others have used less, the store decides each request.
      if (want > 0) entry.notBefore = now + entry.length;
    } else {
      this.tokens.leased += lease.granted;
      entry.usedAt = Math.max(entry.usedAt, now);
      entry.add(lease);
      entry.tidy(now);
    }
    // Requests no longer find an entry that an override has replaced, or that was not among the most recent.
    if (this.isClosed || this.keys?.get(entry.key) !== entry) this.giveUp(entry);
    else this.watch(entry);
  }

  /** Looks after the leases of a key as long as it has some: those that nobody uses are returned. */
  private watch(entry: LeasedKey): void {
    this.returnWindows(entry);
    if (this.holders.has(entry) || this.isClosed) return;
    if (entry.using === undefined && entry.spare === undefined && entry.ended.length === 0) return;
    this.holders.add(entry);
    const interval = entry.length / LOOKS;
    this.timer(
      interval,
      () => {
        this.holders.delete(entry);
        if (this.isClosed) return;
        const now = this.monotonicMs();
        entry.tidy(now);
        if (now - entry.usedAt >= interval * IDLE) entry.endAll();
        this.expireOld(entry, now);
        // Else the next lease settles them.
        const isUnused = entry.using === undefined && entry.spare === undefined && !entry.isAsking;
        if (isUnused && entry.ended.some(({ left }) => left > 0)) this.giveUp(entry);
        this.watch(entry);
      },
      true,
    );
  }

  /** Returns what is left of the leases of a key. */
  private giveUp(entry: LeasedKey): void {
    entry.endAll();
    this.returnWindows(entry);
    while (entry.ended.length > 0) this.lease(entry, 0, this.monotonicMs());
  }

  private returnWindows({ key, algorithm, ended }: LeasedKey): void {
    if (algorithm.leasedFor === undefined) return;
    for (const lease of ended.splice(0)) {
      lease.isOpen = false;
      if (lease.left === 0) continue;
      this.tokens.returned += lease.left;
      this.refund([{ key, algorithm, cost: lease.left, at: lease.at, resetAt: lease.resetAt }]);
    }
  }

  /** Drops ended leases that the store has forgotten by now. */
  private expireOld({ ended, length }: LeasedKey, now: number): void {
    while (ended.length > 0 && now > ended[0]!.endsAt + length) this.expire(ended.shift()!);
  }

  private expire(lease: Lease): void {
    lease.isOpen = false;
    this.tokens.expired += lease.left;
  }
}

/** The verdict on a request that leases pay alone. */
function paidAlone(payments: readonly Payment[], now: number): Verdict {
  const charges = payments.map(({ entry }) => entry.estimate(now));
  return { allowed: true, at: payments[0]!.entry.storeTime(now), charges };
}

/** The store has charged it with its lease: a refund must not return what this process has used. */
function unrefundable(entry: LeasedKey, { at }: Verdict, now: number): ChargeVerdict {
  const { key, algorithm } = entry;
  return { ...entry.estimate(now), receipt: { key, algorithm, cost: 0, at, resetAt: at } };
}

function settling(algorithm: Algorithm, want: number, settled: Lease | undefined): Algorithm {
  if (settled === undefined) return algorithm.tokenLease!(want);
  const { at, granted, left } = settled;
  return algorithm.tokenLease!(want, { at, granted, used: granted - left });
}

/** Whether leases can pay any of the charges. A request that is settled later is the store's altogether. */
function mayLease(charges: readonly PolicyCharge[]): boolean {
  let any = false;
  for (let i = 0; i < charges.length; i++) {
    const { mode, policy } = charges[i]!;
    if (policy.tokenLease === undefined) continue;
    if (mode !== 'take') return false;
    any = true;
  }
  return any;
}

function isLeased({ policy, cost }: PolicyCharge): boolean {
  return policy.tokenLease !== undefined && cost > 0;
}
