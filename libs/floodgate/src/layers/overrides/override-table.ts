import type { PolicyNumbers } from '../../policy/policy.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverrideRecord } from '../../stores/override-log.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { OverrideChange } from './override.js';
import { EVERYONE, type OverrideKey, readBody } from './override-text.js';

/** An override as decisions need it. */
export interface ActiveOverride {
  readonly policy: string;
  /** An identity's tag, or `EVERYONE`; undefined where the policy counts all clients together. */
  readonly identity: string | undefined;
  readonly scope: string | undefined;
  readonly kind: 'numbers' | 'exempt' | 'blocked';
  readonly change: OverrideChange;
  readonly version: number;
  /** Milliseconds since 1970 by the store's clock; 0: never. */
  readonly endsAtMs: number;
  /** The policies under its numbers, cached so that numbers are checked once. */
  variants: WeakMap<BoundPolicy, BoundPolicy> | undefined;
  /** The last charge under its numbers for each policy: most requests of a client repeat it. */
  charges: WeakMap<BoundPolicy, PolicyCharge> | undefined;
}

/** The tag under which the overrides of policies that count all clients together stand: no identity has an empty tag. */
const TOGETHER = '';

/** The overrides of this process, by the identity's tag. */
export class OverrideTable {
  private readonly byTag = new Map<string, readonly ActiveOverride[]>();
  private count = 0;
  private nextEndMs = Infinity;

  get size(): number {
    return this.count;
  }

  /** The override of a policy for an identity, or else for everyone; of each, one for the policy's scope goes first. */
  find(policy: BoundPolicy, identity: string): ActiveOverride | undefined {
    if (policy.globalKey !== undefined) return this.findOf(TOGETHER, policy);
    return this.findOf(identity, policy) ?? this.findOf(EVERYONE, policy);
  }

  private findOf(tag: string, policy: BoundPolicy): ActiveOverride | undefined {
    const all = this.byTag.get(tag);
    if (all === undefined) return undefined;
    for (const one of all) {
      if (one.policy === policy.name && (one.scope === undefined || one.scope === policy.boundTo)) return one;
    }
    return undefined;
  }

  /**
   * Takes over a record, unless a later one is known.
   *
   * @returns false for a record that cannot be read
   */
  put(record: OverrideRecord): boolean {
    const body = readBody(record);
    if (body === undefined) return false;
    const tag = body.identity ?? TOGETHER;
    const all = this.byTag.get(tag) ?? [];
    const known = all.find(({ policy, scope }) => policy === body.policy && scope === body.scope);
    if (known !== undefined && known.version >= record.version) return true;
    const others = all.filter((one) => one !== known);
    if (!record.removed) {
      const made = activeOf(body, body.change, record);
      if (made === undefined) return false;
      if (made.scope === undefined) others.push(made);
      else others.unshift(made); // the more specific one goes first
      if (made.endsAtMs > 0) this.nextEndMs = Math.min(this.nextEndMs, made.endsAtMs);
    }
    this.replace(tag, all, others);
    return true;
  }

  /** Forgets an override that has ended. */
  remove(override: ActiveOverride): void {
    const { identity = TOGETHER } = override;
    const all = this.byTag.get(identity) ?? [];
    const left = all.filter((one) => one !== override);
    this.replace(identity, all, left);
  }

  /** Forgets the overrides that have ended. */
  removeEnded(nowMs: number): void {
    if (nowMs < this.nextEndMs) return;
    this.nextEndMs = Infinity;
    for (const [tag, all] of this.byTag) {
      const left = all.filter(({ endsAtMs }) => endsAtMs === 0 || endsAtMs > nowMs);
      if (left.length < all.length) this.replace(tag, all, left);
      for (const { endsAtMs } of left) if (endsAtMs > 0) this.nextEndMs = Math.min(this.nextEndMs, endsAtMs);
    }
  }

  private replace(tag: string, before: readonly ActiveOverride[], after: readonly ActiveOverride[]): void {
    this.count += after.length - before.length;
    if (after.length === 0) this.byTag.delete(tag);
    else this.byTag.set(tag, after);
  }
}

/** The numbers of a change. */
export function numbersOf({ change }: ActiveOverride): PolicyNumbers {
  return change as PolicyNumbers;
}

function activeOf(
  { policy, identity, scope }: OverrideKey,
  change: OverrideChange | undefined,
  { version, endsAtMs }: OverrideRecord,
): ActiveOverride | undefined {
  if (change === undefined) return undefined;
  const kind = change.exempt === true ? 'exempt' : change.blocked === true ? 'blocked' : 'numbers';
  return { policy, identity, scope, kind, change, version, endsAtMs, variants: undefined, charges: undefined };
}
