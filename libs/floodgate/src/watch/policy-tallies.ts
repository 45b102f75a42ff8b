import type { AlgorithmName } from '../algorithms/core/algorithm.js';
import type { Decision } from '../policy/decision.js';
import type { ChargeMode } from '../stores/charge.js';
import type { PolicyStats } from './stats.js';

/** The members of a policy that are counted. */
export interface CountedPolicy {
  readonly name: string;
  readonly algorithm: { readonly name: AlgorithmName };
  readonly shadow?: boolean;
  /** The class of its requests. */
  readonly priority?: string | undefined;
  /** The one key of a policy that counts all clients together. */
  readonly globalKey?: string | undefined;
}

/** The members of a charge that are counted. */
export interface CountedCharge {
  readonly policy: CountedPolicy;
  readonly mode: ChargeMode;
  readonly shadow?: boolean;
  /** The identity's tag. */
  readonly identity?: string;
}

type Tally = { -readonly [Field in keyof PolicyStats]: PolicyStats[Field] };

/** Policy functions can make up any number of names. */
export const MAX_TALLIES = 1000;
/** The name of all further policies. */
export const OTHER = 'other';

/** Counts the decisions of each policy, by name, algorithm and class. */
export class PolicyTallies {
  private readonly byPolicy = new WeakMap<CountedPolicy, Tally>();
  /** The last counted policy at each index of a request. */
  private readonly lastPolicies: CountedPolicy[] = [];
  private readonly lastTallies: Tally[] = [];
  private readonly byName = new Map<string, Tally>();
  private readonly shadowsByName = new Map<string, Tally>();

  /** @param rejected called for each charge that its policy rejects */
  constructor(private readonly rejected: (charge: CountedCharge) => void = ignored) {}

  /**
   * The counts of a policy, which begin at zero before its first request.
   *
   * @param place the index of its charge in the request
   */
  of(policy: CountedPolicy, place = 0): Tally {
    // Most applications ask the same policies again and again, and a WeakMap costs as much as the rest of counting.
    if (policy === this.lastPolicies[place]) return this.lastTallies[place]!;
    let tally = this.byPolicy.get(policy);
    if (tally === undefined) {
      tally = named(policy.shadow === true ? this.shadowsByName : this.byName, policy);
      this.byPolicy.set(policy, tally);
    }
    // A place behind the end would leave a hole, which makes the arrays slow.
    if (place <= this.lastPolicies.length) {
      this.lastPolicies[place] = policy;
      this.lastTallies[place] = tally;
    }
    return tally;
  }

  /** Begins the counts of a policy at zero: those of each class that it has. */
  expect(policy: CountedPolicy & { readonly priorities: ReadonlyMap<string, number> | undefined }): void {
    if (policy.priorities === undefined) this.of(policy);
    else for (const priority of policy.priorities.keys()) this.of({ ...policy, priority });
  }

  /** Counts the decision of a single policy on its charge. */
  countOne(policy: CountedPolicy, charges: readonly CountedCharge[], allowed: boolean): void {
    const tally = this.of(policy);
    tally.requests++;
    if (allowed) {
      tally.allowed++;
      return;
    }
    tally.rejected++;
    this.rejected(charges[0]!);
  }

  count(
    charges: readonly CountedCharge[],
    { allowed, policies, shadow }: Pick<Decision, 'allowed' | 'policies' | 'shadow'>,
  ): void {
    for (let i = 0, next = 0; i < charges.length; i++) {
      const { policy } = charges[i]!;
      const tally = this.of(policy, i);
      tally.requests++;
      if (charges[i]!.shadow === true) {
        countShadow(tally, allowed, shadow?.find((one) => one.policy === policy.name)?.allowed ?? true);
        continue;
      }
      if (allowed) tally.allowed++;
      else if (policies[next]?.policy === policy.name) {
        // The order is the same, but policies are missing where some are decided locally and others are open.
        if (policies[next++]!.allowed) continue;
        tally.rejected++;
        this.rejected(charges[i]!);
      }
    }
  }

  snapshot(): PolicyStats[] {
    return Array.from(this.byName.values(), (tally) => ({ ...tally }));
  }

  snapshotOfShadows(): PolicyStats[] {
    return Array.from(this.shadowsByName.values(), (tally) => ({ ...tally }));
  }
}

function ignored(): void {
  // nobody asks
}

function named(byName: Map<string, Tally>, counted: CountedPolicy): Tally {
  const { name, algorithm, priority } = counted;
  let tally = byName.get(idOf(algorithm.name, name, priority));
  if (tally === undefined) {
    const isKnown = byName.size < MAX_TALLIES;
    // All further policies count together, whatever their classes.
    const [policy, own] = isKnown ? [name, priority] : [OTHER, undefined];
    if (!isKnown) tally = byName.get(idOf(algorithm.name, OTHER, undefined));
    const counts = { requests: 0, allowed: 0, rejected: 0 };
    tally ??=
      own === undefined
        ? { policy, algorithm: algorithm.name, ...counts }
        : { policy, algorithm: algorithm.name, priority: own, ...counts };
    byName.set(idOf(algorithm.name, policy, own), tally);
  }
  return tally;
}

function idOf(algorithm: string, policy: string, priority: string | undefined): string {
  return priority === undefined ? `${algorithm} ${policy}` : `${algorithm} ${policy}\n${priority}`;
}

/** Counts a shadow as if it were enforced: a request that it would have rejected is not allowed. */
function countShadow(tally: Tally, allowed: boolean, fits: boolean): void {
  if (!fits) tally.rejected++;
  else if (allowed) tally.allowed++;
}
