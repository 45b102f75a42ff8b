import { OverrideConflictError } from '../overrides/errors.js';
import type { OverrideTarget } from '../overrides/override.js';
import { type OverrideBody, overrideId } from '../overrides/override-text.js';
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
/** The most pauses that this process remembers by itself. Those beyond it end at their time all the same. */
const MAX_OWN = 10_000;
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

/** A pause of this process. */
interface OwnPause extends PausedState {
  /** By the store's clock. */
  readonly until: number;
}

/**
 * Pauses policies: in this process at once, and in all others by an override that blocks the identity. The override stands for the
 * policy's scope `'app'` alone, so that one of an operator without a scope is in force again behind it.
 */
export class Pauses {
  /**
   * The pauses that this process keeps by itself, as no override has taken them over yet, by the id of that override. A change of
   * an override looks at one of them: partners may reject thousands of identities while Redis is away.
   */
  private readonly own = new Map<string, OwnPause>();
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
    const nowMs = this.active.nowMs();
    for (const { charge, keys } of paused) {
      for (const key of keys) this.gates.pause(key, ms);
      const id = idOf(charge);
      const until = Math.max(nowMs + ms, this.own.get(id)?.until ?? 0);
      this.own.delete(id); // the last one comes last
      this.own.set(id, { charge, keys, until });
    }
    this.forgetOld(nowMs);
    const shared = await Promise.all(paused.map(({ charge }) => this.share(charge, ms, reason)));
    for (const { charge } of paused) this.endOf(idOf(charge), undefined);
    return shared.every(Boolean);
  }

  /**
   * Ends the pauses of this process that an override has taken over: it stops this process as all others, until it ends or an operator
   * removes it. The runtime calls this after each change of an override.
   *
   * @param change one that was made; undefined: any may have been
   */
  changed(change: OverrideBody | undefined): void {
    if (change === undefined) for (const id of this.own.keys()) this.endOf(id, undefined);
    else this.endOf(overrideId(change), change);
  }

  /** Ends a pause of this process if an override has taken it over, or was removed in its place. */
  private endOf(id: string, change: OverrideBody | undefined): void {
    const known = this.own.get(id);
    if (known === undefined) return;
    const { charge, keys, until } = known;
    const isRemoved = change !== undefined && change.change === undefined;
    if (!isRemoved && !this.isTakenOver(charge, until) && until > this.active.nowMs()) return;
    this.own.delete(id);
    for (const key of keys) this.gates.endPause(key);
  }

  /** Forgets the oldest pauses: those that have ended, and those beyond the bound. */
  private forgetOld(nowMs: number): void {
    for (const [id, { until }] of this.own) {
      if (until > nowMs && this.own.size <= MAX_OWN) return;
      this.own.delete(id);
    }
  }

  private isTakenOver({ policy, identity }: PolicyCharge, until: number): boolean {
    const override = this.engine.overrideOf(policy, identity);
    return override?.kind === 'blocked' && override.scope === policy.boundTo && lastsUntil(override.endsAtMs, until);
  }

  private async share(charge: PolicyCharge, ms: number, reason: string): Promise<boolean> {
    const { policy, identity, key } = charge;
    const until = this.active.nowMs() + ms;
    if (this.isTakenOver(charge, until)) return true;
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

/** The id of the override by which a pause reaches the other processes. */
function idOf({ policy, identity }: PolicyCharge): string {
  return overrideId({
    policy: policy.name,
    identity: policy.globalKey === undefined ? identity : undefined,
    scope: policy.boundTo,
  });
}

/** @param endsAtMs 0: it does not end */
function lastsUntil(endsAtMs: number, until: number): boolean {
  return endsAtMs === 0 || endsAtMs + SAME_MS >= until;
}
