import type { BoundPolicy } from '../types.js';

/** The most policies to know by name, with their sites: functions may create any number. */
const MAX_KNOWN = 10_000;

/** The policies that stand on routes, under their names, so that their states can be found without a route. */
export class BoundNames {
  /** The policies by name and key tail. */
  private readonly byName = new Map<string, Map<string, BoundPolicy>>();
  private known = 0;

  add(policy: BoundPolicy): void {
    let sameName = this.byName.get(policy.name);
    if (sameName?.has(policy.keyTail) === true || this.known >= MAX_KNOWN) return;
    if (sameName === undefined) this.byName.set(policy.name, (sameName = new Map()));
    sameName.set(policy.keyTail, policy);
    this.known++;
  }

  of(name: string): Iterable<BoundPolicy> {
    return this.byName.get(name)?.values() ?? [];
  }

  names(): Iterable<string> {
    return this.byName.keys();
  }
}
