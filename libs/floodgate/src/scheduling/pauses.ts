import type { Logger } from '../util/logger.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { reasonOf } from '../util/thrown.js';
import { withHelp } from '../util/error-codes.js';
import { andThen, type Answer } from '../util/answer.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import type { PausedState } from '../engine/calls/call-charges.js';
import type { Gates } from './gates.js';
import { pauseKey, type StoredPauses } from '../layers/pauses/stored-pauses.js';

/** Pauses policies: in this process at once, and in all others as soon as the store has noted it. */
export class Pauses {
  private readonly failures: RationedWarning;

  /** @param stored undefined where the store is in this process: the gates keep its pauses */
  constructor(
    private readonly gates: Pick<Gates, 'pause' | 'endPause' | 'pausedFor'>,
    private readonly stored: Pick<StoredPauses, 'set' | 'left' | 'forget'> | undefined,
    logger: Pick<Logger, 'warn'>,
  ) {
    this.failures = new RationedWarning(logger);
  }

  /**
   * Never rejects.
   *
   * @returns whether all processes are paused
   */
  async pause(states: readonly PausedState[], ms: number): Promise<boolean> {
    const paused = states.filter(({ charge }) => !charge.shadow); // a shadow stops nothing
    const held = paused.map(({ keys }) => keys.map((key) => this.gates.pause(key, ms)).every(Boolean));
    const shared = await Promise.all(paused.map((state, i) => this.share(state, ms, held[i]!)));
    return shared.every(Boolean);
  }

  /** Ends pauses that were reset in the store. */
  end(states: readonly PausedState[]): void {
    this.stored?.forget(states.map(({ charge }) => pauseKey(charge.policy, charge.identity)));
    for (const { keys } of states) for (const key of keys) this.gates.endPause(key);
  }

  /** Milliseconds until the pause of a charge's policy ends; 0 where it is not paused, as far as is known. */
  left(charge: PolicyCharge): Answer<number> {
    const ms = this.gates.pausedFor(charge.key);
    const { stored } = this;
    if (ms > 0 || stored === undefined || charge.shadow) return ms;
    return andThen(stored.left([charge]), ([left]) => left!);
  }

  private async share({ charge, keys }: PausedState, ms: number, isHeld: boolean): Promise<boolean> {
    const { gates, stored } = this;
    try {
      if (stored !== undefined) await stored.set(charge, ms);
      else if (!isHeld) throw new Error('more identities than may wait are paused');
    } catch (error) {
      const problem = `Policy '${charge.policy.name}' may not be paused in all processes: ${reasonOf(error)}`;
      this.failures.warn(withHelp(problem, 'FG_PAUSE_NOT_SHARED'));
      return false;
    }
    // The store says from now on when the pause ends, in this process as in all others.
    if (stored !== undefined) for (const key of keys) gates.endPause(key, ms);
    return true;
  }
}
