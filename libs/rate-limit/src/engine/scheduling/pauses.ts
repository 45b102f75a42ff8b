import { OverrideConflictError } from '../overrides/errors.js';
import type { OverrideTarget } from '../overrides/override.js';
import type { RateLimitOverrides } from '../overrides/rate-limit-overrides.js';
import type { Logger } from '../../util/logger.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import { reasonOf } from '../../util/thrown.js';
import { withHelp } from '../../util/error-codes.js';
import type { Engine } from '../engine.js';
import type { PolicyCharge } from '../policy-charge.js';
import type { Gates } from './gates.js';

/** The shortest override: other processes obey one within a second. */
const SHORTEST_MS = 1000;
/** Processes that learn of the same pause at about the same time set it once. */
const SAME_MS = 1000;
/** Characters of an override's reason. */
const LONGEST_REASON = 500;
const MAX_TRIES = 3;
const AUTHOR = 'RateLimiter.pause';

/** The overrides in force in this process. */
interface OverridesInForce {
  nowMs(): number;
}

/** What a pause of one policy stops. */
export interface PausedState {
  /** A peek under the policy's own numbers. */
  readonly charge: PolicyCharge;
  /** The keys of the identity's states, one for each plan. */
  readonly keys: readonly string[];
}

/**
 * Pauses policies: in this process at once, and in all others by an override that blocks the identity. The override stands for the
 * policy's scope `'app'` alone, so that one of an operator without a scope is in force again behind it.
 */
export class Pauses {
  /** The pauses of this process that an override shares, and that is not in force here yet, by the key of the state. */
  private readonly shared = new Map<string, { readonly state: PausedState; readonly until: number }>();
  /** The ends of the overrides that are being written, by the key of the state. */
  private readonly writing = new Map<string, number>();
  private readonly failures: RationedWarning;

  constructor(
    private readonly gates: Pick<Gates, 'pause' | 'endPause'>,
    private readonly engine: Pick<Engine, 'overrideOf'>,
    private readonly overrides: Pick<RateLimitOverrides, 'set' | 'get'>,
    private readonly active: OverridesInForce,
    logger: Pick<Logger, 'warn'>,
  ) {
    this.failures = new RationedWarning(logger);
  }

  /**
   * Never rejects.
   *
   * @returns whether all processes are paused, or will be within a second; false: this one alone
   */
  async pause(states: readonly PausedState[], ms: number, reason: string): Promise<boolean> {
    const paused = states.filter(({ charge }) => !charge.shadow); // a shadow stops nothing
    for (const { keys } of paused) for (const key of keys) this.gates.pause(key, ms);
    const shared = await Promise.all(paused.map(({ charge }) => this.share(charge, ms, reason)));
    const until = this.active.nowMs() + ms;
    for (const [i, state] of paused.entries()) if (shared[i]) this.shared.set(state.charge.key, { state, until });
    this.handOver();
    return shared.every(Boolean);
  }

  /**
   * Ends the pauses that an override has taken over, which an operator may remove. It stops all other processes in the same way. The
   * runtime calls this after each change of an override.
   */
  handOver(): void {
    for (const [key, { state, until }] of this.shared) {
      const { policy, identity } = state.charge;
      const isInForce = this.engine.overrideOf(policy, identity)?.kind === 'blocked';
      if (!isInForce && until > this.active.nowMs()) continue;
      this.shared.delete(key);
      for (const one of state.keys) this.gates.endPause(one);
    }
  }

  private async share(charge: PolicyCharge, ms: number, reason: string): Promise<boolean> {
    const { policy, identity, key } = charge;
    const known = this.engine.overrideOf(policy, identity);
    const until = this.active.nowMs() + ms;
    if (known?.kind === 'blocked' && lastsUntil(known.endsAtMs, until)) return true;
    if (until <= (this.writing.get(key) ?? 0) + SAME_MS) return true;
    this.writing.set(key, until);
    const target = { policy: policy.name, scope: policy.boundTo, ...(policy.globalKey === undefined && { identity }) };
    try {
      return await this.write(target, ms, until, reason.slice(0, LONGEST_REASON));
    } catch (error) {
      this.notShared(policy.name, reasonOf(error));
      return false;
    } finally {
      if (this.writing.get(key) === until) this.writing.delete(key);
    }
  }

  private async write(target: OverrideTarget, ms: number, until: number, reason: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const there = tries === 1 ? undefined : await this.overrides.get(target);
      if (there !== undefined && there.change.blocked !== true) {
        this.notShared(target.policy, `an override of scope '${target.scope}' is in its place`);
        return false;
      }
      if (there !== undefined && lastsUntil(there.expiresAtMs ?? 0, until)) return true;
      const options = { expiresIn: Math.max(SHORTEST_MS, Math.ceil(ms)), author: AUTHOR, reason };
      try {
        await this.overrides.set(target, { blocked: true }, { ...options, ifVersion: there?.version ?? 0 });
        return true;
      } catch (error) {
        // Another process, or an operator, was first.
        if (!(error instanceof OverrideConflictError) || tries === MAX_TRIES) throw error;
      }
    }
  }

  private notShared(policy: string, problem: string): void {
    this.failures.warn(
      withHelp(`Policy '${policy}' is paused in this process alone: ${problem}`, 'FG_PAUSE_NOT_SHARED'),
    );
  }
}

/** @param endsAtMs 0: it does not end */
function lastsUntil(endsAtMs: number, until: number): boolean {
  return endsAtMs === 0 || endsAtMs + SAME_MS >= until;
}
