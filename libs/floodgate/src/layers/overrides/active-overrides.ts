import { variantOf } from '../../policy/variants.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverrideRecord } from '../../stores/override-log.js';
import { withHelp } from '../../util/error-codes.js';
import { flatten } from '../../util/flat-text.js';
import type { Logger } from '../../util/logger.js';
import { reasonOf } from '../../util/thrown.js';
import type { ChargeVerdict } from '../../stores/store.js';
import { chargeOf, inItsPlace, type PolicyCharge } from '../../charges/policy-charge.js';
import type { OverriddenCounts } from '../../charges/layer-verdict.js';
import { type ActiveOverride, numbersOf, OverrideTable } from './override-table.js';
import { EVERYONE, type OverrideBody, readBody } from './override-text.js';

/** A request with an override on at least one charge. */
export interface OverriddenRequest {
  /** All charges: with other numbers where an override has them. */
  readonly all: readonly PolicyCharge[];
  /** The charges whose states are asked: not those of an exempt client, or of a shadow that would block. */
  readonly asked: readonly PolicyCharge[];
  /** The verdicts of overrides that block the client, by the index of the charge in `all`. */
  readonly blocks: ReadonlyMap<number, ChargeVerdict>;
  readonly counts: OverriddenCounts;
}

const NO_BLOCKS: OverriddenRequest['blocks'] = new Map();

/** Messages about overrides that cannot be in force, each of which is logged once. */
const MAX_WARNED = 100;

/** What was found for a charge. */
interface Found {
  /** The edition of the overrides at the look-up. */
  readonly edition: number;
  /** Undefined: none was found. */
  readonly override: ActiveOverride | undefined;
}

/**
 * The overrides that this process obeys. A decision looks here, and nowhere else: it asks no store about overrides.
 */
export class ActiveOverrides {
  /** The number of overrides. While it is 0, a decision looks nothing up. */
  size = 0;
  /** Whether the overrides were read at least once. */
  loaded = false;
  private table = new OverrideTable();
  /** Changes with every change of an override. Until then a charge need not look its override up again. */
  private edition = 1;
  /** What charges without an override remember. */
  private none: Found = { edition: 0, override: undefined };
  private offsetMs = 0;
  /** Told of each change; undefined: all overrides may have changed. */
  onChange: ((changed: OverrideBody | undefined) => void) | undefined;
  private readonly warned = new Set<string>();

  /** @param processMs milliseconds of this process's clock, which `sync` relates to the store's */
  constructor(
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly processMs: () => number = () => performance.now(),
  ) {}

  /** Milliseconds since 1970 by the store's clock, estimated from its last answer. */
  nowMs(): number {
    return this.processMs() + this.offsetMs;
  }

  /**
   * Notes the store's clock.
   *
   * @param nowMs what the store has answered
   * @param sentAtMs when it was asked, by the process's clock
   */
  sync(nowMs: number, sentAtMs = this.processMs()): void {
    const receivedAtMs = this.processMs();
    this.offsetMs = nowMs - (sentAtMs + receivedAtMs) / 2;
  }

  /** The process's clock, for `sync`. */
  readProcessMs(): number {
    return this.processMs();
  }

  /** Takes over a change. */
  put(record: OverrideRecord): void {
    this.take(record);
    this.size = this.table.size;
    if (this.onChange !== undefined) this.onChange(readBody(record));
  }

  /** Takes over all overrides in place of those that were known. */
  replace(records: readonly OverrideRecord[]): void {
    this.table = new OverrideTable();
    this.edition++;
    for (const record of records) this.take(record);
    this.size = this.table.size;
    this.onChange?.(undefined);
  }

  /** Forgets the overrides that have ended. */
  removeEnded(): void {
    this.table.removeEnded(this.nowMs());
    this.size = this.table.size;
  }

  /** The override of a policy for an identity that is in force; undefined without one. */
  find(policy: BoundPolicy, identity: string): ActiveOverride | undefined {
    const override = this.table.find(policy, identity);
    if (override === undefined || override.endsAtMs === 0 || override.endsAtMs > this.nowMs()) return override;
    this.table.remove(override);
    this.size = this.table.size;
    return this.find(policy, identity); // the one of all scopes, or for everyone, may be behind it
  }

  /** The request as the overrides want it; undefined where they change nothing. */
  apply(charges: readonly PolicyCharge[]): OverriddenRequest | undefined {
    for (let i = 0; i < charges.length; i++)
      if (this.findFor(charges[i]!) !== undefined) return this.applyFrom(charges);
    return undefined;
  }

  /** Whether an override exempts the client of a charge, or blocks it; undefined if it does neither. */
  exemptsOrBlocks(charge: PolicyCharge): 'exempt' | 'blocked' | undefined {
    const override = this.size === 0 ? undefined : this.findFor(charge);
    return override === undefined || override.kind === 'numbers' ? undefined : override.kind;
  }

  /** Finds the override of a charge, and remembers it with the charge. */
  private findFor(charge: PolicyCharge): ActiveOverride | undefined {
    const known = charge.found as Found | undefined;
    if (known?.edition === this.edition) {
      const { override } = known;
      if (override === undefined || override.endsAtMs === 0 || override.endsAtMs > this.nowMs()) return override;
    }
    const override = this.find(charge.policy, charge.identity);
    const { edition, none } = this;
    if (override !== undefined) charge.found = { edition, override } satisfies Found;
    else charge.found = none.edition === edition ? none : (this.none = { edition, override });
    return override;
  }

  /** The charge under the numbers of an override, at the same place of its row. */
  private own(charge: PolicyCharge, override: ActiveOverride): PolicyCharge {
    return inItsPlace(this.kept(charge, override), charge);
  }

  /** The charge of an override that is kept for its next requests. */
  private kept(charge: PolicyCharge, override: ActiveOverride): PolicyCharge {
    const { policy, identity, cost, mode } = charge;
    const known = override.charges?.get(policy);
    // The override of a policy that counts all clients together serves several identities.
    if (known !== undefined && known.cost === cost && known.mode === mode && known.identity === identity) return known;
    const own = chargeOf(this.variant(policy, override), identity, cost, mode, override.version);
    if (override.identity === EVERYONE) return own; // the next request is another client's
    flatten(own.key); // it is kept
    override.charges ??= new WeakMap();
    override.charges.set(policy, own);
    return own;
  }

  /** The policy with the numbers of an override for this identity; the policy itself without one. */
  variantFor(policy: BoundPolicy, identity: string): BoundPolicy {
    const override = this.find(policy, identity);
    return override?.kind === 'numbers' ? this.variant(policy, override) : policy;
  }

  private applyFrom(charges: readonly PolicyCharge[]): OverriddenRequest {
    const all: PolicyCharge[] = [];
    const asked: PolicyCharge[] = [];
    let blocks: Map<number, ChargeVerdict> | undefined;
    let [exempt, changed] = [0, 0];
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const override = this.findFor(charge);
      const counted = charge.shadow ? 0 : 1;
      if (override === undefined) asked.push(charge);
      else if (override.kind === 'exempt') exempt += counted;
      else if (override.kind === 'numbers') {
        changed += counted;
        const own = this.own(charge, override);
        asked.push(own);
        all.push(own);
        continue;
      } else if (!charge.shadow) {
        // A shadow rejects no request. The override may be from before the policy was put in shadow.
        blocks ??= new Map();
        blocks.set(all.length, blockUntil(override.endsAtMs === 0 ? Infinity : override.endsAtMs - this.nowMs()));
        all.push({ ...charge, override: override.version });
        continue;
      }
      all.push(charge);
    }
    return { all, asked, blocks: blocks ?? NO_BLOCKS, counts: { changed, exempt, blocked: blocks?.size ?? 0 } };
  }

  /**
   * The policy under the override's numbers. Numbers from another version of the application may not fit: the policy then stays
   * unchanged.
   */
  private variant(policy: BoundPolicy, override: ActiveOverride): BoundPolicy {
    override.variants ??= new WeakMap();
    let variant = override.variants.get(policy);
    if (variant === undefined) {
      try {
        variant = variantOf(policy, numbersOf(override));
      } catch (error) {
        variant = policy;
        this.sayOnce(`An override is not in force here: ${reasonOf(error)}`);
      }
      override.variants.set(policy, variant);
    }
    return variant;
  }

  private take(record: OverrideRecord): void {
    this.edition++;
    if (!this.table.put(record)) this.sayUnreadable(record);
  }

  private sayUnreadable({ version }: OverrideRecord): void {
    this.sayOnce(
      `The override of version ${version} is not in force here: another version has written it, or one with another identitySecret`,
    );
  }

  private sayOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size >= MAX_WARNED) return;
    this.warned.add(message);
    this.logger.warn(withHelp(message, 'FG_OVERRIDES_UNKNOWN'));
  }
}

/** @param ms Infinity: it does not end by itself */
function blockUntil(ms: number): ChargeVerdict {
  const left = ms * 1000;
  return { allowed: false, remaining: 0, resetAfter: left === Infinity ? 0 : left, retryAfter: left, delay: 0 };
}
