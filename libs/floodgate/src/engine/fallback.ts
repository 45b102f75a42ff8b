import type { Algorithm } from '../algorithms/core/algorithm.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { headroomUnder } from '../policy/priorities.js';
import type { OnStoreFailure } from '../policy/policy.js';
import { monotonicClock } from '../stores/clock.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import {
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type Clock,
  RateLimitStoreError,
  type SettledCharge,
  type Verdict,
} from '../stores/store.js';
import { reasonOf } from '../util/thrown.js';
import type { ChargeKeeper, ChargeWatch } from '../charges/charge-keeper.js';
import { LimiterUnavailableError } from '../charges/errors.js';
import { OpenCharges } from '../layers/estimates/open-charges.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import { placesAmong, type LayerVerdict, UNCOUNTED } from '../charges/layer-verdict.js';

/** The module's options that the fallback uses. */
export interface FallbackSettings {
  readonly onStoreFailure: OnStoreFailure;
  readonly localShare: number;
  readonly fallbackMaxBytes: number;
  /** The store's watches, which see the charges of the fallback, too. */
  readonly watches?: readonly ChargeWatch[];
}

interface Share {
  readonly algorithm: Algorithm;
  /** The headroom of the policy's class. A share may be too small for it: a request of the usual cost fits even then. */
  readonly headroom: number;
}

const MICROSECONDS = 1000;

/** The largest number of processes that a limit can be divided among. */
export const MAX_PROCESSES = 10_000;

/**
 * Decides while the store cannot, as each policy's `onStoreFailure` says: an error, a decision by this process with its share
 * of the limits, or a free pass.
 *
 * The counts of this process outlive the outage until their states expire: a store that fails repeatedly gives clients no fresh
 * limit. An outage can admit one extra local limit per process.
 */
export class Fallback implements ChargeKeeper {
  readonly by = 'local';
  /** The charges that this process has made without the store and has not settled. */
  readonly open = new OpenCharges();
  readonly watches: readonly ChargeWatch[];
  private readonly local: MemoryStore;
  private readonly shares = new WeakMap<BoundPolicy, Share>();

  constructor(
    private readonly settings: FallbackSettings,
    clock: Clock = monotonicClock,
  ) {
    const { fallbackMaxBytes, watches = [] } = settings;
    this.watches = watches;
    this.local = new MemoryStore({ clock, maxBytes: fallbackMaxBytes });
  }

  /**
   * Decides in the place of the store. When one of the policies says `'closed'`, the verdict is an error.
   *
   * @param cause why the store could not decide
   */
  decide(charges: readonly PolicyCharge[], cause: Error): LayerVerdict {
    const at = Date.now() * MICROSECONDS;
    const uncounted = charges.map(() => UNCOUNTED);
    const local: PolicyCharge[] = [];
    const asked: PolicyCharge[] = [];
    for (const charge of charges) {
      const choice = charge.policy.onStoreFailure ?? this.settings.onStoreFailure;
      // A shadow rejects no request: with `'closed'` it is not counted.
      if (choice === 'closed' && !charge.shadow) {
        const unavailable = new LimiterUnavailableError('The rate limit could not be checked', { cause });
        return { allowed: false, at, charges: uncounted, source: 'closed', unavailable };
      }
      if (choice !== 'local') {
        asked.push(charge);
        continue;
      }
      const { algorithm, headroom } = this.shareOf(charge.policy);
      const share = { ...charge, algorithm, headroom, shardKeys: undefined };
      local.push(share);
      asked.push(share);
    }
    if (local.length === 0) return { allowed: true, at, charges: uncounted, source: 'open' };
    const verdict = this.open.concerns(local)
      ? this.open.decide(local, (some) => this.local.consume(some))
      : this.local.consume(local);
    const verdicts = placesAmong(asked, local).map((place) => (place < 0 ? UNCOUNTED : verdict.charges[place]!));
    const source = local.every(({ shadow }) => shadow) ? 'open' : 'local';
    return { allowed: verdict.allowed, at: verdict.at, charges: verdicts, asked, source };
  }

  /** Settles reservations that this process has decided. */
  settle(settlements: readonly ChargeSettlement[]): readonly SettledCharge[] {
    return this.local.settle(settlements);
  }

  /** Renews leases under the share of the limit that they were taken from. */
  decidePatiently(charges: readonly Charge[]): Verdict {
    return this.local.consume(charges);
  }

  checkCosts(): void {
    // The local store can settle every cost.
  }

  failure(thrown: unknown): RateLimitStoreError {
    return new RateLimitStoreError(reasonOf(thrown), { cause: thrown });
  }

  /** Refunds charges of this process. */
  refund(receipts: readonly ChargeReceipt[]): void {
    this.local.refund(receipts);
  }

  /** Forgets what this process has counted. */
  reset(keys: readonly string[]): void {
    this.local.reset(keys);
    this.open.forget(keys);
  }

  /** Decisions that the full local store made on a shared overflow state. */
  get memoryOverflows(): number {
    return this.local.overflowed;
  }

  /** The policy's algorithm with this process's share of the limit. */
  private shareOf(policy: BoundPolicy): Share {
    let share = this.shares.get(policy);
    if (share === undefined) {
      const atLeast = typeof policy.cost === 'number' ? Math.max(1, policy.cost) : 1;
      const algorithm = policy.algorithm.shares.of(this.settings.localShare, atLeast);
      const headroom = Math.min(headroomUnder(policy, algorithm), Math.max(0, algorithm.limit - atLeast));
      share = { algorithm, headroom };
      this.shares.set(policy, share);
    }
    return share;
  }
}
