import type { Decision } from '../policy/decision.js';
import type { DecisionMonitor, Monitor } from './monitor.js';
import type { CountedCharge, CountedPolicy } from './policy-tallies.js';

/**
 * Counts the decisions on scheduled calls. A call that waits is decided again and again: only the decision by which it gets its turn
 * counts as a request. `ScheduledCalls` counts what became of each call.
 */
export class TurnMonitor implements DecisionMonitor {
  /** The charges that overrides have changed, left out and rejected, of the decision that follows. */
  private changes: readonly [number, number, number] | undefined;

  constructor(private readonly all: Monitor) {}

  begin(): number {
    return this.all.begin();
  }

  decided(...counted: Parameters<DecisionMonitor['decided']>): Decision {
    const [, decision] = counted;
    return this.isTurn(decision) ? this.all.decided(...counted) : decision;
  }

  decidedOne(charges: readonly CountedCharge[], policy: CountedPolicy, decision: Decision, since: number): Decision {
    return this.isTurn(decision) ? this.all.decidedOne(charges, policy, decision, since) : decision;
  }

  decidedByOverrides(...counted: Parameters<DecisionMonitor['decidedByOverrides']>): Decision {
    const [, , decision] = counted;
    return this.isTurn(decision) ? this.all.decidedByOverrides(...counted) : decision;
  }

  /** Notes what the decision that follows at once was made of. */
  overridden(changed: number, exempt: number, blocked: number): void {
    this.changes = [changed, exempt, blocked];
  }

  /** The call waits for the store. */
  closed(): void {
    this.changes = undefined;
  }

  storeFailed(charges: readonly CountedCharge[], since: number): void {
    this.all.storeFailed(charges, since);
  }

  ranOver(policy: string, to: string): void {
    this.all.ranOver(policy, to);
  }

  private isTurn({ allowed }: Decision): boolean {
    const { changes } = this;
    if (changes !== undefined) {
      this.changes = undefined;
      if (allowed) this.all.overridden(...changes);
    }
    return allowed;
  }
}
