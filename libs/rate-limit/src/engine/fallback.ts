import type { Algorithm } from '../algorithms/algorithm.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { headroomUnder } from '../policy/priorities/priorities.js';
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
import { shown } from '../util/config-error.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { adopted, isPromise } from '../util/is-promise.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { reasonOf } from '../util/thrown.js';
import type { ChargeKeeper } from './charge-keeper.js';
import { LimiterUnavailableError } from './errors.js';
import { OpenCharges } from './settling/open-charges.js';
import type { PolicyCharge } from './policy-charge.js';
import type { Thresholds } from './thresholds/thresholds.js';
import { placesAmong, type LayerVerdict, UNCOUNTED } from './layer-verdict.js';

/** The module's options that the fallback uses. */
export interface FallbackSettings {
  readonly onStoreFailure: OnStoreFailure;
  readonly localShare: number | (() => number | Promise<number>);
  readonly fallbackMaxBytes: number;
  /** Those of the store. */
  readonly thresholds?: Thresholds | undefined;
}

interface Share {
  readonly processes: number;
  readonly algorithm: Algorithm;
  /** Of the policy's class. A share may be too small for its part: a request of the usual cost fits all the same. */
  readonly headroom: number;
  /** The end of its keys: states of another rate have other keys. */
  readonly keySuffix: string;
}

/** Milliseconds after which an unsettled call of `localShare` is given up, and another one may begin. */
const ABANDONED_MS = 30_000;
const MICROSECONDS = 1000;

/** The largest number of processes that a limit can be divided among. */
export const MAX_PROCESSES = 10_000;

/** Whether a value is a number of processes that a limit can be divided among. */
export function isProcessCount(count: unknown): count is number {
  return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= MAX_PROCESSES;
}

/**
 * Decides while the store cannot, as each policy's `onStoreFailure` says: an error, a decision by this process with its share
 * of the limits, or a free pass.
 *
 * The counts of this process outlive the outage until their states expire: a store that fails repeatedly gives clients no fresh
 * limit. An outage can admit one extra local limit per process.
 *
 * When the number of processes changes, windows and leases keep their counts. A bucket's state depends on its rate, so each
 * number has a state of its own. All processes together then admit at most one whole limit more for each change.
 */
export class Fallback implements ChargeKeeper {
  readonly by = 'local';
  /** The charges that this process has made without the store and has not settled. */
  readonly open = new OpenCharges();
  readonly thresholds: Thresholds | undefined;
  private readonly shareFailed: RationedWarning;
  private readonly local: MemoryStore;
  private readonly shares = new WeakMap<BoundPolicy, Share>();
  private processes: number;
  /** All key suffixes that were used, for `reset`. */
  private readonly keySuffixes = new Set(['']);
  /** Monotonic milliseconds at which the unsettled call of `localShare` began; -Infinity without one. */
  private askedAt = -Infinity;

  constructor(
    private readonly settings: FallbackSettings,
    logger: Pick<Logger, 'warn'>,
    clock: Clock = monotonicClock,
  ) {
    const { localShare, fallbackMaxBytes, thresholds } = settings;
    this.thresholds = thresholds;
    this.shareFailed = new RationedWarning(logger);
    this.local = new MemoryStore({ clock, maxBytes: fallbackMaxBytes });
    this.processes = typeof localShare === 'number' ? localShare : 1;
  }

  /**
   * Decides in the place of the store. When one of the policies says `'closed'`, the verdict is an error.
   *
   * @param cause why the store could not decide
   */
  decide(charges: readonly PolicyCharge[], cause: Error): LayerVerdict {
    this.noteProcesses();
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
      const { algorithm, headroom, keySuffix } = this.shareOf(charge.policy);
      const share = { ...charge, key: charge.key + keySuffix, algorithm, headroom, shardKeys: undefined };
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
    const all = keys.flatMap((key) => Array.from(this.keySuffixes, (suffix) => key + suffix));
    this.local.reset(all);
    this.open.forget(all);
  }

  /** Decisions that the full local store made on a shared overflow state. */
  get memoryOverflows(): number {
    return this.local.overflowed;
  }

  /** The policy's algorithm with this process's share of the limit. */
  private shareOf(policy: BoundPolicy): Share {
    const { processes } = this;
    let share = this.shares.get(policy);
    if (share?.processes !== processes) {
      const atLeast = typeof policy.cost === 'number' ? Math.max(1, policy.cost) : 1;
      const algorithm = policy.algorithm.shares.of(processes, atLeast);
      const keySuffix = algorithm.rate === policy.algorithm.rate ? '' : `/${processes}`;
      this.keySuffixes.add(keySuffix);
      const headroom = Math.min(headroomUnder(policy, algorithm), Math.max(0, algorithm.limit - atLeast));
      share = { processes, algorithm, headroom, keySuffix };
      this.shares.set(policy, share);
    }
    return share;
  }

  /**
   * Asks `localShare`. No decision waits for its promise: the value counts once it arrives, and only one call is under way. If
   * the function fails or returns an invalid number, its last valid value is kept.
   */
  noteProcesses(): void {
    const { localShare } = this.settings;
    if (typeof localShare === 'number' || performance.now() - this.askedAt < ABANDONED_MS) return;
    try {
      const given: unknown = localShare();
      if (isPromise(given)) this.await(given);
      else this.setProcesses(given);
    } catch (error) {
      this.shareHasFailed(error);
    }
  }

  private await(answer: PromiseLike<unknown>): void {
    const askedAt = (this.askedAt = performance.now());
    const settled = (): boolean => {
      // If this call was given up, another one may be under way.
      const isLast = this.askedAt === askedAt;
      if (isLast) this.askedAt = -Infinity;
      return isLast;
    };
    adopted(answer)
      .then((given) => void (settled() && this.setProcesses(given)))
      .catch((error: unknown) => {
        settled();
        this.shareHasFailed(error);
      });
  }

  private setProcesses(given: unknown): void {
    if (!isProcessCount(given)) throw new TypeError(`it must return a whole number from 1, got ${shown(given)}`);
    this.processes = given;
  }

  private shareHasFailed(error: unknown): void {
    this.shareFailed.warn(
      withHelp(
        `localShare failed, the limits are divided by ${this.processes}: ${reasonOf(error)}`,
        'FG_FUNCTION_FAILED',
      ),
    );
  }
}
