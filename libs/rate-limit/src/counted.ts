import type { Decision, PolicyDecision } from './decision.js';
import type { BoundPolicy } from './policy/route-policies.js';
import type { Charge } from './stores/store.js';

const COUNTED = Symbol('rate limit counted');

interface CountedRequest {
  [COUNTED]?: Counted;
}

/** What a request was charged for so far, where it passes the limiter twice: by the middleware, then by the guard. */
export class Counted {
  private readonly keys = new Set<string>();
  private policies: readonly PolicyDecision[] = [];
  private decidedAtMs = 0;

  /** From now on `of` finds what the request is charged for. */
  static begin(request: object): void {
    (request as CountedRequest)[COUNTED] = new Counted();
  }

  static of(request: object): Counted | undefined {
    return (request as CountedRequest)[COUNTED];
  }

  /** Which of the policies have not charged it yet. They count as having done so from now on, unless they only look. */
  rest(
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
  ): { readonly policies: readonly BoundPolicy[]; readonly charges: readonly Charge[] } {
    const isLeft = charges.map(({ key }) => !this.keys.has(key));
    for (const { key, cost } of charges) if (cost > 0) this.keys.add(key);
    if (!isLeft.includes(false)) return { policies, charges };
    return { policies: policies.filter((_, i) => isLeft[i]), charges: charges.filter((_, i) => isLeft[i]) };
  }

  /** The decision with the policies of the one before it, which are as far on as the time since. */
  withEarlier(decision: Decision): Decision {
    const now = performance.now();
    const passed = now - this.decidedAtMs;
    const earlier = this.policies.map((policy) => ({
      ...policy,
      resetAfterMs: Math.max(0, policy.resetAfterMs - passed),
    }));
    const policies = [...earlier, ...decision.policies];
    this.policies = policies;
    this.decidedAtMs = now;
    return { ...decision, policies };
  }
}
