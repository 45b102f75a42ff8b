import type { AlgorithmName } from '../algorithms/algorithm.js';
import type { Decision } from '../policy/decision.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import type { PolicyStats } from './stats.js';

type Tally = { -readonly [Field in keyof PolicyStats]: PolicyStats[Field] };

/** Names are bounded, whatever policy functions make up. */
const MAX_TALLIES = 1000;
const OTHER = 'other';

/** What every policy has said, by name and algorithm. */
export class PolicyTallies {
  private readonly byPolicy = new WeakMap<ParsedPolicy, Tally>();
  private readonly byName = new Map<string, Tally>();

  /** Takes a policy in, so that it is there with zeros before its first request. */
  of(policy: ParsedPolicy): Tally {
    let tally = this.byPolicy.get(policy);
    if (tally === undefined) {
      tally = this.named(policy.name, policy.algorithm.name);
      this.byPolicy.set(policy, tally);
    }
    return tally;
  }

  count(
    policies: readonly ParsedPolicy[],
    { allowed, policies: decided }: Pick<Decision, 'allowed' | 'policies'>,
  ): void {
    for (let i = 0, next = 0; i < policies.length; i++) {
      const tally = this.of(policies[i]!);
      tally.requests++;
      if (allowed) tally.allowed++;
      else if (decided[next]?.policy === policies[i]!.name) {
        // In the same order, though not all of them where some are 'local' and others 'open'.
        if (!decided[next++]!.allowed) tally.rejected++;
      }
    }
  }

  snapshot(): PolicyStats[] {
    return Array.from(this.byName.values(), (tally) => ({ ...tally }));
  }

  private named(name: string, algorithm: AlgorithmName): Tally {
    let tally = this.byName.get(`${algorithm} ${name}`);
    if (tally === undefined) {
      const policy = this.byName.size < MAX_TALLIES ? name : OTHER;
      if (policy !== name) tally = this.byName.get(`${algorithm} ${OTHER}`);
      tally ??= { policy, algorithm, requests: 0, allowed: 0, rejected: 0 };
      this.byName.set(`${algorithm} ${policy}`, tally);
    }
    return tally;
  }
}
