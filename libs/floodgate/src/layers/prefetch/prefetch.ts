import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { GrantedPrefetch } from '../../algorithms/core/prefetch.js';
import type { PrefetchCounts } from '../../watch/stats.js';
import type { Charge, ChargeReceipt, ChargeVerdict, Verdict } from '../../stores/store.js';
import type { Timer } from '../../stores/timer.js';
import { type Answer, attempt } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import { flatten } from '../../util/flat-text.js';
import { LruMap } from '../../util/lru-map.js';
import { asking, type Decider, type LimitedRequest } from '../../charges/decider.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { LayerVerdict } from '../../charges/layer-verdict.js';
import { type PrefetchedTokens, tokensOf } from './prefetched-tokens.js';
import { PrefetchKey } from './prefetch-key.js';

/** The most keys that can have prefetches: the most recent ones, whose demand is known. */
const MAX_KEYS = 10_000;
/** The prefetches of a key are checked this many times within their length. */
const LOOKS = 4;
/** Tokens are returned after this many checks without use. */
const IDLE = 2;

export interface PrefetchSettings {
  /** Decides the charges that no prefetch pays. */
  readonly inner: Decider;
  /**
   * Decides prefetches, without the layers: a prefetch is no request, so it is no open charge, and its rejection is no denial. Tokens
   * that arrive late are as good as others.
   */
  readonly ask: (charges: readonly Charge[]) => Answer<Verdict>;
  /** Refunds without waiting. */
  readonly refund: (receipts: readonly ChargeReceipt[]) => void;
  /** Milliseconds of a clock that never steps; default the process's. */
  readonly monotonicMs?: (() => number) | undefined;
  readonly timer: Timer;
}

/** A prefetch that has paid a charge of a request, until the request is decided. */
interface Payment {
  readonly entry: PrefetchKey;
  readonly prefetch: PrefetchedTokens;
  readonly cost: number;
}

/**
 * Pays charges from tokens that this process has charged ahead of demand. The store has charged each token before it is used
 * here, so the limit holds. What is lost, with an answer or with the process, counts as used.
 *
 * docs/prefetch.md describes it.
 */
export class PrefetchLayer implements Decider {
  private keys: LruMap<PrefetchKey> | undefined;
  private readonly inner: Decider;
  private readonly askStore: PrefetchSettings['ask'];
  private readonly refund: PrefetchSettings['refund'];
  private readonly monotonicMs: () => number;
  private readonly timer: Timer;
  private readonly tokens = { prefetched: 0, returned: 0, expired: 0 };
  /** The keys that have prefetches, each of which a timer looks after. */
  private readonly holders = new Set<PrefetchKey>();
  /** The calls that have not been answered. */
  private readonly calls = new Set<Promise<void>>();
  private isClosed = false;

  constructor({ inner, ask, refund, monotonicMs, timer }: PrefetchSettings) {
    this.inner = inner;
    this.askStore = ask;
    this.refund = refund;
    this.monotonicMs = monotonicMs ?? (() => performance.now());
    this.timer = timer;
  }

  stats(): { readonly prefetch: PrefetchCounts } {
    return { prefetch: { ...this.tokens } };
  }

  /** Asks about the charges that no prefetch pays. If these are rejected, the tokens go back to their prefetches. */
  decide(request: LimitedRequest): Answer<LayerVerdict> {
    const { charges } = request;
    if (!mayPrefetch(charges)) return this.inner.decide(request);
    const now = this.monotonicMs();
    return this.pay(charges, now) ?? this.askForRest(request, now);
  }

  /**
   * Pays a request that prefetches can pay alone, and asks for prefetches that are due.
   *
   * @returns undefined where the store has to be asked
   */
  private pay(charges: readonly PolicyCharge[], now: number): LayerVerdict | undefined {
    let isPaid = true;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      if (!isPrefetched(charge)) {
        isPaid = false;
        continue;
      }
      const entry = this.entryOf(charge);
      entry.demand.note(charge.cost, now);
      isPaid &&= entry.payer(charge.cost, now) !== undefined;
    }
    // Take the tokens before asking for prefetches: the call for the next prefetch may return unused tokens of this one.
    const payments = isPaid ? this.payments(charges, now) : undefined;
    for (let i = 0; i < charges.length; i++) {
      const entry = payments?.[i]?.entry ?? (isPrefetched(charges[i]!) ? this.entryOf(charges[i]!) : undefined);
      const want = entry?.wanted(now) ?? 0;
      if (want > 0) this.ask(entry!, want, now);
    }
    return payments && paidAlone(payments as readonly Payment[], now);
  }

  private askForRest(request: LimitedRequest, now: number): Answer<LayerVerdict> {
    const { charges } = request;
    const payments = this.payments(charges, now);
    const rest = payments.every((payment) => payment === undefined)
      ? charges
      : charges.filter((_, i) => payments[i] === undefined);
    // A store that answers at once has just prefetched the tokens.
    if (rest.length === 0) return paidAlone(payments as readonly Payment[], now);
    for (const payment of payments) if (payment !== undefined) payment.prefetch.pending += payment.cost;
    return attempt(
      () => this.inner.decide(asking(request, rest)),
      (verdict) => this.conclude(charges, payments, verdict),
      (error) => this.undecided(payments, error),
    );
  }

  /** Forgets the prefetches of these keys: no request takes their tokens, which count as used. */
  reset(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.keys?.get(key);
      if (entry === undefined) continue;
      this.keys!.delete(key);
      entry.isForgotten = true;
      entry.endAll();
      for (const prefetch of entry.ended.splice(0)) this.expire(prefetch);
    }
  }

  /** Asks for no more prefetches, and returns unused tokens within the store's deadline. What does not arrive counts as used. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const entry of this.holders) this.giveUp(entry);
    // The answer of a call that was under way may bring another prefetch.
    while (this.calls.size > 0) await Promise.all(this.calls);
  }

  private conclude(
    charges: readonly PolicyCharge[],
    payments: readonly (Payment | undefined)[],
    verdict: LayerVerdict,
  ): LayerVerdict {
    const now = this.monotonicMs();
    let next = 0;
    const verdicts = charges.map((charge, i) => {
      const payment = payments[i];
      if (payment !== undefined) {
        this.decided(payment, verdict.allowed, now);
        return unrefundable(payment.entry, verdict, now);
      }
      const own = verdict.charges[next++]!;
      if (isPrefetched(charge)) this.keys?.get(charge.key)?.noteVerdict(verdict, own, now);
      return own;
    });
    return { ...verdict, charges: verdicts };
  }

  /** Handles a failed decision. The store may have made the other charges, so the tokens count as used. */
  private undecided(payments: readonly (Payment | undefined)[], error: unknown): never {
    const now = this.monotonicMs();
    for (const payment of payments) if (payment !== undefined) this.decided(payment, true, now);
    throw error;
  }

  /**
   * Ends a payment. The tokens of a rejected request return to their prefetch, or to the prefetch that inherited its tokens.
   */
  private decided({ entry, prefetch, cost }: Payment, allowed: boolean, now: number): void {
    let live = prefetch;
    while (live.heir !== undefined) live = live.heir;
    live.pending -= cost;
    if (allowed) {
      entry.usedAt = Math.max(entry.usedAt, now);
      return;
    }
    if (live.isOpen) live.left += cost;
    else this.tokens.expired += cost;
  }

  /** Takes the tokens of the charges that prefetches can pay. */
  private payments(charges: readonly PolicyCharge[], now: number): (Payment | undefined)[] {
    return charges.map((charge) => {
      const entry = isPrefetched(charge) ? this.keys?.get(charge.key) : undefined;
      if (entry === undefined || !entry.isOf(charge.algorithm, charge.policy.prefetch!)) return undefined;
      const prefetch = entry.payer(charge.cost, now);
      if (prefetch === undefined) return undefined;
      prefetch.left -= charge.cost;
      return { entry, prefetch, cost: charge.cost };
    });
  }

  private entryOf(charge: PolicyCharge): PrefetchKey {
    const { key, algorithm } = charge;
    const terms = charge.policy.prefetch!;
    this.keys ??= new LruMap(MAX_KEYS);
    let entry = this.keys.get(key);
    if (entry !== undefined && entry.isOf(algorithm, terms)) return entry;
    if (entry !== undefined) this.giveUp(entry);
    flatten(key);
    entry = new PrefetchKey(charge, terms);
    this.keys.set(key, entry);
    return entry;
  }

  /**
   * Asks for a prefetch, and settles one that has ended in the same call.
   *
   * @param want 0 only settles
   */
  private ask(entry: PrefetchKey, want: number, sentAt: number): void {
    if (this.isClosed && want > 0) return;
    const { algorithm } = entry;
    const { prefetch } = algorithm;
    const settled = prefetch?.kind === 'granted' ? entry.settled(sentAt) : undefined;
    const charge: PolicyCharge =
      prefetch?.kind === 'granted'
        ? { ...entry.charge, algorithm: settling(prefetch, want, settled), cost: 1, mode: 'reserve' }
        : { ...entry.charge, cost: want };
    // A settled prefetch is sent once, whatever becomes of the call.
    if (settled !== undefined) settled.isOpen = false;
    entry.isAsking = true;
    const answered = (verdict: Verdict): void => this.answered(entry, verdict, want, settled, sentAt);
    const failed = (): void => {
      entry.isAsking = false;
      entry.notBefore = this.monotonicMs() + entry.length;
      if (settled !== undefined) this.tokens.expired += settled.left;
    };
    try {
      const answer = this.askStore([charge]);
      if (!isPromise(answer)) return answered(answer);
      const call = answer.then(answered, failed).finally(() => this.calls.delete(call));
      this.calls.add(call);
    } catch {
      failed();
    }
  }

  private answered(
    entry: PrefetchKey,
    verdict: Verdict,
    want: number,
    settled: PrefetchedTokens | undefined,
    sentAt: number,
  ): void {
    const now = this.monotonicMs();
    entry.isAsking = false;
    // After its end the store may have forgotten the prefetch.
    if (settled !== undefined) this.tokens[sentAt < settled.endsAt ? 'returned' : 'expired'] += settled.left;
    const prefetch = want > 0 ? tokensOf(entry, verdict, want, sentAt, now) : undefined;
    if (entry.isForgotten) {
      // The reset has cleared the store's state, too: returning these tokens would refund what others were charged since.
      if (prefetch !== undefined) this.tokens.prefetched += prefetch.granted;
      if (prefetch !== undefined) this.expire(prefetch);
      return;
    }
    entry.noteVerdict(verdict, verdict.charges[0]!, now);
    if (prefetch === undefined) {
      // Too little is left for a prefetch. The store decides each request for a while.
      if (want > 0) entry.notBefore = now + entry.length;
    } else {
      this.tokens.prefetched += prefetch.granted;
      entry.usedAt = Math.max(entry.usedAt, now);
      entry.add(prefetch);
      entry.tidy(now);
    }
    // Requests no longer find this entry: an override replaced it, or it was not among the most recent ones.
    if (this.isClosed || this.keys?.get(entry.key) !== entry) this.giveUp(entry);
    else this.watch(entry);
  }

  /** Checks the prefetches of a key regularly while it has any, and returns unused tokens. */
  private watch(entry: PrefetchKey): void {
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
        // Otherwise the next prefetch settles them.
        const isUnused = entry.using === undefined && entry.spare === undefined && !entry.isAsking;
        if (isUnused && entry.ended.some(({ left }) => left > 0)) this.giveUp(entry);
        this.watch(entry);
      },
      true,
    );
  }

  /** Returns what is left of the prefetches of a key. */
  private giveUp(entry: PrefetchKey): void {
    entry.endAll();
    this.returnWindows(entry);
    while (entry.ended.length > 0) this.ask(entry, 0, this.monotonicMs());
  }

  private returnWindows({ key, algorithm, ended }: PrefetchKey): void {
    if (algorithm.prefetch?.kind !== 'charged') return;
    for (const prefetch of ended.splice(0)) {
      prefetch.isOpen = false;
      if (prefetch.left === 0) continue;
      this.tokens.returned += prefetch.left;
      this.refund([{ key, algorithm, cost: prefetch.left, at: prefetch.at, resetAt: prefetch.resetAt }]);
    }
  }

  /** Drops ended prefetches that the store has forgotten by now. */
  private expireOld({ ended, length }: PrefetchKey, now: number): void {
    while (ended.length > 0 && now > ended[0]!.endsAt + length) this.expire(ended.shift()!);
  }

  private expire(prefetch: PrefetchedTokens): void {
    prefetch.isOpen = false;
    this.tokens.expired += prefetch.left;
  }
}

/** The verdict on a request that prefetches pay alone. */
function paidAlone(payments: readonly Payment[], now: number): LayerVerdict {
  for (const { entry } of payments) entry.usedAt = now;
  const charges = payments.map(({ entry }) => entry.estimate(now));
  return { allowed: true, at: payments[0]!.entry.storeTime(now), charges, source: 'prefetch' };
}

/**
 * The verdict on a charge that prefetched tokens pay. Its receipt has cost 0: a refund must not return what the prefetch has
 * charged.
 */
function unrefundable(entry: PrefetchKey, { at }: Verdict, now: number): ChargeVerdict {
  const { key, algorithm } = entry;
  return { ...entry.estimate(now), receipt: { key, algorithm, cost: 0, at, resetAt: at } };
}

function settling(prefetch: GrantedPrefetch, want: number, settled: PrefetchedTokens | undefined): Algorithm {
  if (settled === undefined) return prefetch.charge(want);
  const { at, granted, left } = settled;
  return prefetch.charge(want, { at, granted, used: granted - left });
}

/** Whether prefetches can pay any of the charges. The store alone decides a request that is settled later, or has alternatives. */
function mayPrefetch(charges: readonly PolicyCharge[]): boolean {
  let any = false;
  for (let i = 0; i < charges.length; i++) {
    const { mode, policy, alternative } = charges[i]!;
    if (alternative) return false;
    if (policy.prefetch === undefined) continue;
    if (mode !== 'take') return false;
    any = true;
  }
  return any;
}

function isPrefetched({ policy, cost }: PolicyCharge): boolean {
  return policy.prefetch !== undefined && cost > 0;
}
