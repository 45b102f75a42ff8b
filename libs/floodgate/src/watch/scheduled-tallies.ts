import { type CountedCharge, MAX_TALLIES, OTHER } from './policy-tallies.js';
import type { ScheduledStats } from './stats.js';

/** What became of a scheduled call. */
export type ScheduledResult = Exclude<keyof ScheduledStats, 'policy' | 'waiting'>;

type Tally = { -readonly [Field in keyof ScheduledStats]: ScheduledStats[Field] };
type NamedPolicy = CountedCharge['policy'];

/** Counts scheduled calls by the names of their policies. A call of several policies counts once for each. */
export class ScheduledTallies {
  private readonly byPolicy = new WeakMap<NamedPolicy, Tally>();
  private readonly byName = new Map<string, Tally>();
  /** Most calls repeat the policy of the one before. */
  private lastPolicy: NamedPolicy | undefined;
  private lastTally: Tally | undefined;

  /** Counts a call that has ended, or that was not let in. */
  count(charges: readonly CountedCharge[], result: ScheduledResult): void {
    this.add(charges, result, 1);
  }

  /** Notes that a call begins to wait. */
  waits(charges: readonly CountedCharge[]): void {
    this.add(charges, 'waiting', 1);
  }

  /** Notes that a call waits no longer. */
  waitsNoLonger(charges: readonly CountedCharge[]): void {
    this.add(charges, 'waiting', -1);
  }

  snapshot(): ScheduledStats[] {
    return Array.from(this.byName.values(), (tally) => ({ ...tally }));
  }

  /** Adds to the counts of all policies but those in shadow, which let no call wait. */
  private add(charges: readonly CountedCharge[], field: ScheduledResult | 'waiting', count: number): void {
    for (const { policy, shadow } of charges) if (shadow !== true) this.of(policy)[field] += count;
  }

  private of(policy: NamedPolicy): Tally {
    if (policy === this.lastPolicy) return this.lastTally!;
    let tally = this.byPolicy.get(policy);
    if (tally === undefined) this.byPolicy.set(policy, (tally = this.named(policy.name)));
    this.lastPolicy = policy;
    this.lastTally = tally;
    return tally;
  }

  private named(name: string): Tally {
    const policy = this.byName.has(name) || this.byName.size < MAX_TALLIES ? name : OTHER;
    let tally = this.byName.get(policy);
    if (tally === undefined) {
      tally = { policy, waiting: 0, atOnce: 0, waited: 0, late: 0, aborted: 0, full: 0, closed: 0, failed: 0 };
      this.byName.set(policy, tally);
    }
    return tally;
  }
}
