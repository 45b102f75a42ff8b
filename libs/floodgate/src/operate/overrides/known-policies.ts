import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverridablePolicies } from './override-calls.js';

/** Policies by their names. */
interface PoliciesByName {
  names(): Iterable<string>;
  boundTo(name: string): Iterable<BoundPolicy>;
}

/** The policies that routes, the module and code have. Functions can name others at run time: those are not known here. */
export class KnownPolicies implements OverridablePolicies {
  /**
   * @param named the module's own policies
   * @param coded binds a named policy without charging it, and knows the policies that code has named
   * @param routes those of the application's routes
   */
  constructor(
    private readonly named: Iterable<{ readonly name: string }>,
    private readonly coded: PoliciesByName & { bindAll(name: string): unknown },
    private readonly routes: Pick<PoliciesByName, 'boundTo'> & { policyNames(): Iterable<string> },
  ) {}

  names(): readonly string[] {
    const named = Array.from(this.named, ({ name }) => name);
    return [...new Set([...named, ...this.routes.policyNames(), ...this.coded.names()])];
  }

  places(name: string): readonly BoundPolicy[] {
    // RateLimiter counts the module's policies across the application, whether code has asked it or not.
    for (const policy of this.named) if (policy.name === name) this.coded.bindAll(name);
    const places = new Map<string, BoundPolicy>();
    for (const place of [...this.coded.boundTo(name), ...this.routes.boundTo(name)]) places.set(place.keyTail, place);
    return [...places.values()];
  }
}
