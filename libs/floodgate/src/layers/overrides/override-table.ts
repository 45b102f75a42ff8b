import type { PolicyNumbers } from '../../policy/policy.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverrideRecord } from '../../stores/override-log.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { OverrideChange } from './override.js';
import { type OverrideKey, readBody } from './override-text.js';

/** An override as decisions need it. */
export interface ActiveOverride {
  readonly policy: string;
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
const EVERYBODY = '';

/** The overrides of this process, by the identity's tag. */
export class OverrideTable {
  private readonly byTag = new Map<string, readonly ActiveOverride[]>();
  private count = 0;
  private nextEndMs = Infinity;

  get size(): number {
    return this.count;
  }

  /** The override of a policy for an identity; one for the policy's scope goes first. */
  find(policy: BoundPolicy, identity: string): ActiveOverride | undefined {
    const all = this.byTag.get(policy.globalKey === undefined ? identity : EVERYBODY);
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
    const all = this.byTag.get(body.identity ?? EVERYBODY) ?? [];
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
    this.replace(body.identity ?? EVERYBODY, all, others);
    return true;
  }

  /** Forgets an override that has ended. */
  remove({ identity = EVERYBODY }: Pick<OverrideKey, 'identity'>, override: ActiveOverride): void {
    const all = this.byTag.get(identity) ?? [];
    this.replace(
      identity,
      all,
      all.filter((one) => one !== override),
    );
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
  { policy, scope }: OverrideKey,
  change: OverrideChange | undefined,
  { version, endsAtMs }: OverrideRecord,
): ActiveOverride | undefined {
  if (change === undefined) return undefined;
  const kind = change.exempt === true ? 'exempt' : change.blocked === true ? 'blocked' : 'numbers';
  return { policy, scope, kind, change, version, endsAtMs, variants: undefined, charges: undefined };
}
