import type { Algorithm } from '../algorithms/algorithm.js';
import { SharedTime } from '../algorithms/shared-time.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import type { OnStoreFailure } from '../policy/policy.js';
import { monotonicClock } from '../stores/clock.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { Charge, ChargeReceipt, ChargeSettlement, Clock, SettledCharge, Verdict } from '../stores/store.js';
import { shown } from '../util/config-error.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import { decisionOf } from './charged-decision.js';
import { LimiterUnavailableError } from './errors.js';
import type { PolicyCharge } from './policy-charge.js';

/** What the fallback is made with; the module's options of the same names. */
export interface FallbackSettings {
  readonly onStoreFailure: OnStoreFailure;
  readonly localShare: number | (() => number);
  readonly fallbackMaxBytes: number;
}

interface Share {
  readonly processes: number;
  readonly algorithm: Algorithm;
}

/** More processes than a limit is divided among. */
export const MAX_PROCESSES = 10_000;

/** Whether a limit can be divided among so many processes. */
export function isProcessCount(count: unknown): count is number {
  return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= MAX_PROCESSES;
}

/**
 * Decides while the store cannot, as each policy's `onStoreFailure` says: an error, a decision by this process with its share
 * of the limits, or a free pass.
 *
 * The counts of this process outlive the outage until their states mean nothing any more, and they hold for every share: a
 * store that comes and goes, or a share that changes, hands out no fresh limit. An outage can admit one extra local limit per
 * process.
 */
export class Fallback {
  private readonly shareFailed: RationedWarning;
  private readonly local: MemoryStore;
  private readonly shares = new WeakMap<BoundPolicy, Share>();
  private readonly time: SharedTime;
  /** Whether the number of processes stays what it is. */
  private readonly isFixed: boolean;

  constructor(
    private readonly settings: FallbackSettings,
    logger: Pick<Logger, 'warn'>,
    private readonly clock: Clock = monotonicClock,
  ) {
    const { localShare, fallbackMaxBytes } = settings;
    this.shareFailed = new RationedWarning(logger);
    this.local = new MemoryStore({ clock, maxBytes: fallbackMaxBytes });
    this.isFixed = typeof localShare === 'number';
    this.time = new SharedTime(typeof localShare === 'number' ? localShare : 1);
  }

  /**
   * @param cause why the store could not decide
   * @throws {LimiterUnavailableError} when one of the policies says `'closed'`
   */
  decide(charges: readonly PolicyCharge[], cause: Error): Decision {
    const local: PolicyCharge[] = [];
    this.noteProcesses();
    for (const charge of charges) {
      const choice = charge.policy.onStoreFailure ?? this.settings.onStoreFailure;
      // A shadow rejects nobody: it counts nothing then.
      if (choice === 'closed' && charge.shadow) continue;
      if (choice === 'closed') throw new LimiterUnavailableError('The rate limit could not be checked', { cause });
      if (choice === 'local') local.push({ ...charge, algorithm: this.shareOf(charge.policy), shardKeys: undefined });
    }
    if (local.length > 0) {
      const decidedBy = local.every(({ shadow }) => shadow) ? 'open' : 'local';
      return decisionOf(local, this.local.consume(local), decidedBy);
    }
    return { allowed: true, decidedBy: 'open', policies: [], retryAfterMs: 0, delayMs: 0, decidedAtMs: Date.now() };
  }

  /** Settles reservations that this process has decided. */
  settle(settlements: readonly ChargeSettlement[]): readonly SettledCharge[] {
    return this.local.settle(settlements);
  }

  /** Decides charges that were made for this process's share before: renewals of its leases. */
  consume(charges: readonly Charge[]): Verdict {
    return this.local.consume(charges);
  }

  /** Refunds charges of this process. */
  refund(receipts: readonly ChargeReceipt[]): void {
    this.local.refund(receipts);
  }

  /** Forgets what this process has counted. */
  reset(keys: readonly string[]): void {
    this.local.reset(keys);
  }

  /** Decisions of the full local store on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.local.overflowed;
  }

  /** The policy's algorithm with this process's share of the limit. */
  private shareOf(policy: BoundPolicy): Algorithm {
    const { processes } = this.time;
    let share = this.shares.get(policy);
    if (share?.processes !== processes) {
      const atLeast = typeof policy.cost === 'number' ? Math.max(1, policy.cost) : 1;
      const { algorithm } = policy;
      // A fixed number of processes gets a bucket with a part of the rate, which is exact; the shared time would be rounded.
      const part = this.isFixed ? algorithm.share(processes, atLeast) : algorithm.localShare(this.time, atLeast);
      share = { processes, algorithm: part };
      this.shares.set(policy, share);
    }
    return share.algorithm;
  }

  /** If `localShare()` fails or returns no number of processes, its last valid value is kept. */
  private noteProcesses(): void {
    const { localShare } = this.settings;
    if (typeof localShare === 'number') return;
    try {
      const given: unknown = localShare();
      if (!isProcessCount(given)) throw new TypeError(`it must return a whole number from 1, got ${shown(given)}`);
      this.time.setProcesses(given, this.clock());
    } catch (error) {
      this.shareFailed.warn(
        withHelp(
          `localShare failed, the limits are divided by ${this.time.processes}: ${reasonOf(error)}`,
          'FG_FUNCTION_FAILED',
        ),
      );
    }
  }
}
