import { Logger } from '@nestjs/common';
import { SharedTime } from '../algorithms/shared-time.js';
import { type Decision, decisionOf } from '../policy/decision.js';
import { RateLimitUnavailableException } from '../nest/exceptions.js';
import { shown } from '../util/config-error.js';
import type { BoundPolicy } from '../nest/route-policies.js';
import { type CheckedOptions, isProcessCount } from '../nest/options/module-options.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import { monotonicClock } from '../stores/clock.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { Charge, Clock } from '../stores/store.js';

interface Share {
  readonly processes: number;
  readonly policy: BoundPolicy;
}

/**
 * What requests get while the store cannot decide, as their policies say: 503, a decision by this process with its share of
 * the limits, or a free pass.
 *
 * What this process has counted outlives the outage until its states mean nothing any more: a store that comes and goes
 * hands out no fresh limit each time. A share that changes hands out none, either: the states' keys and units are the same
 * for all shares, so what was taken under one counts under the next. In any interval a process then admits at most the limit
 * of the last share in force, and what the shares of a bucket's rate gave meanwhile: at most one local limit of each process
 * beyond the policy in an outage.
 */
export class Fallback {
  private readonly shareFailed = new RationedWarning(new Logger('RateLimit'));
  private readonly local: MemoryStore;
  private readonly shares = new WeakMap<BoundPolicy, Share>();
  private readonly time: SharedTime;
  /** Whether the number of processes stays what it is. */
  private readonly isFixed: boolean;

  constructor(
    private readonly options: Pick<CheckedOptions, 'onStoreFailure' | 'localShare' | 'fallbackMaxBytes'>,
    private readonly clock: Clock = monotonicClock,
  ) {
    this.local = new MemoryStore({ clock, maxBytes: options.fallbackMaxBytes });
    this.isFixed = typeof options.localShare === 'number';
    this.time = new SharedTime(typeof options.localShare === 'number' ? options.localShare : 1);
  }

  /**
   * @param cause why the store could not decide
   * @throws {RateLimitUnavailableException} when one of the policies says `'closed'`
   */
  decide(policies: readonly BoundPolicy[], charges: readonly Charge[], cause: Error): Decision {
    const local: BoundPolicy[] = [];
    const localCharges: Charge[] = [];
    this.noteProcesses();
    for (const [i, policy] of policies.entries()) {
      const choice = policy.onStoreFailure ?? this.options.onStoreFailure;
      if (choice === 'closed') {
        throw new RateLimitUnavailableException('The rate limit could not be checked', 1, { cause });
      }
      if (choice === 'open') continue;
      const share = this.shareOf(policy);
      const { key, cost } = charges[i]!;
      local.push(share);
      localCharges.push({ key, algorithm: share.algorithm, cost });
    }
    if (local.length > 0) return decisionOf(local, this.local.consume(localCharges), 'local');
    return { allowed: true, decidedBy: 'open', policies: [], retryAfterMs: 0, delayMs: 0, decidedAtMs: Date.now() };
  }

  /** Forgets what this process has counted. */
  reset(keys: readonly string[]): void {
    this.local.reset(keys);
  }

  /** Its own decisions on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.local.overflowed;
  }

  /** The policy with this process's share of its limit. */
  private shareOf(policy: BoundPolicy): BoundPolicy {
    const { processes } = this.time;
    let share = this.shares.get(policy);
    if (share?.processes !== processes) {
      const atLeast = typeof policy.cost === 'number' ? Math.max(1, policy.cost) : 1;
      const { algorithm } = policy;
      // A number stays: the bucket with a part of the rate is exact then, and the shared time would be rounded.
      const part = this.isFixed ? algorithm.share(processes, atLeast) : algorithm.localShare(this.time, atLeast);
      share = { processes, policy: { ...policy, algorithm: part } };
      this.shares.set(policy, share);
    }
    return share.policy;
  }

  /** If `localShare()` fails or returns no number of processes, its last valid value is kept. */
  private noteProcesses(): void {
    const { localShare } = this.options;
    if (typeof localShare === 'number') return;
    try {
      const given: unknown = localShare();
      if (!isProcessCount(given)) throw new TypeError(`it must return a whole number from 1, got ${shown(given)}`);
      this.time.setProcesses(given, this.clock());
    } catch (error) {
      this.shareFailed.warn(`localShare failed, the limits are divided by ${this.time.processes}: ${reasonOf(error)}`);
    }
  }
}
