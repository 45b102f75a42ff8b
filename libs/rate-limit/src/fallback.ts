import { Logger } from '@nestjs/common';
import type { Algorithm } from './algorithms/algorithm.js';
import { type Decision, decisionOf } from './decision.js';
import { RateLimitUnavailableException } from './http/exceptions.js';
import { shown } from './policy/config-error.js';
import type { BoundPolicy } from './policy/route-policies.js';
import { type CheckedOptions, isProcessCount } from './rate-limit.options.js';
import { RationedWarning, reasonOf } from './rationed-warning.js';
import { MemoryStore } from './stores/memory/memory.store.js';
import type { Charge } from './stores/store.js';

interface Share {
  readonly processes: number;
  readonly algorithm: Algorithm;
}

/**
 * What requests get while the store cannot decide, as their policies say: 503, a decision by this process with its share of
 * the limits, or a free pass.
 *
 * What this process has counted outlives the outage until its states mean nothing any more: a store that comes and goes
 * hands out no fresh limit each time. So an outage admits at most one local limit of each process beyond the policy.
 */
export class Fallback {
  private readonly shareFailed = new RationedWarning(new Logger('RateLimit'));
  private readonly local = new MemoryStore();
  private readonly shares = new WeakMap<Algorithm, Share>();
  /** The last number of processes that was one. */
  private processes: number;

  constructor(private readonly options: Pick<CheckedOptions, 'onStoreFailure' | 'localShare'>) {
    this.processes = typeof options.localShare === 'number' ? options.localShare : 1;
  }

  /**
   * @param cause why the store could not decide
   * @throws {RateLimitUnavailableException} when one of the policies says `'closed'`
   */
  decide(policies: readonly BoundPolicy[], charges: readonly Charge[], cause: Error): Decision {
    const local: BoundPolicy[] = [];
    const localCharges: Charge[] = [];
    const processes = this.processesNow();
    for (const [i, policy] of policies.entries()) {
      const choice = policy.onStoreFailure ?? this.options.onStoreFailure;
      if (choice === 'closed') {
        throw new RateLimitUnavailableException('The rate limit could not be checked', 1, { cause });
      }
      if (choice === 'open') continue;
      const algorithm = this.shareOf(policy, processes);
      local.push({ ...policy, algorithm });
      localCharges.push({ ...charges[i]!, key: `${charges[i]!.key}/${processes}`, algorithm });
    }
    if (local.length > 0) return decisionOf(local, this.local.consume(localCharges), 'local');
    return { allowed: true, decidedBy: 'open', policies: [], retryAfterMs: 0, delayMs: 0, decidedAtMs: Date.now() };
  }

  /** Forgets what this process has counted. */
  reset(keys: readonly string[]): void {
    this.local.reset(keys.map((key) => `${key}/${this.processes}`));
  }

  /** Its own decisions on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.local.overflowed;
  }

  private shareOf({ algorithm, cost }: BoundPolicy, processes: number): Algorithm {
    let share = this.shares.get(algorithm);
    if (share?.processes !== processes) {
      const atLeast = typeof cost === 'number' ? Math.max(1, cost) : 1;
      share = { processes, algorithm: algorithm.share(processes, atLeast) };
      this.shares.set(algorithm, share);
    }
    return share.algorithm;
  }

  /** A function that fails, or returns something else, must not be the outage: what it said before stands. */
  private processesNow(): number {
    const { localShare } = this.options;
    if (typeof localShare === 'number') return localShare;
    try {
      const given: unknown = localShare();
      if (!isProcessCount(given)) throw new TypeError(`it must return a whole number from 1, got ${shown(given)}`);
      this.processes = given;
    } catch (error) {
      this.shareFailed.warn(`localShare failed, the limits are divided by ${this.processes}: ${reasonOf(error)}`);
    }
    return this.processes;
  }
}
