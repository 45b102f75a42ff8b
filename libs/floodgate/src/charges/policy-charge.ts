import type { AnyBlockAlgorithm } from '../algorithms/block/block.js';
import { globalTag } from '../identity/identity-tag.js';
import { type BoundPolicy, isSettled } from '../policy/bound-policy.js';
import { keyOf } from '../policy/key.js';
import type { Answer } from '../util/answer.js';
import { type BlockCharge, type Charge, type ChargeMode, peekOf, UNKNOWN_ENTRY } from '../stores/charge.js';
import { shown } from '../util/config-error.js';

/** What one request asks of one policy. */
export interface PolicyCharge extends Charge {
  readonly policy: BoundPolicy;
  /** The identity's tag. */
  readonly identity: string;
  readonly mode: ChargeMode;
  readonly headroom: number;
  /** The version of the override whose numbers the policy has. */
  readonly override?: number | undefined;
  /** The overrides' slot for what they found: charges are reused. */
  found?: object | undefined;
  readonly shadow: boolean;
  readonly alternative: boolean;
  /** Makes the charge of the policy that takes a request which does not fit this one. */
  instead?: ((head: PolicyCharge) => Answer<PolicyCharge>) | undefined;
  /** The policy that the request did not fit, for which this charge was made. */
  insteadOf?: string | undefined;
  /** The numbers that the charge should have; undefined where it has them, or nothing waits for them. */
  late?: LateNumbers | undefined;
}

/** Numbers that are still looked up, while others stand in for them. A request that does not fit those is decided once more. */
export interface LateNumbers {
  /** Resolves once they are known, or are no longer waited for. Never rejects. */
  readonly known: () => Promise<unknown>;
  /**
   * Makes the charge anew, of what is known by then.
   *
   * @param isFinal whether its numbers count, known or not
   */
  readonly again: (isFinal: boolean) => Answer<PolicyCharge>;
}

/** Whether a request is decided once more if it does not fit. */
export function hasLateNumbers({ late }: PolicyCharge): boolean {
  return late !== undefined;
}

/** The charge in a decision whose rejection does not count: it leads to no block. */
export function withoutBlock(charge: PolicyCharge): PolicyCharge {
  const { block } = charge;
  return block === undefined ? charge : { ...charge, block: { ...block, cost: 0 } };
}

/**
 * Makes a charge.
 *
 * @param identity the identity's tag; a policy that counts all clients together needs none
 * @param mode default: `'reserve'` if the policy is settled after the response
 * @param override the version of the override whose numbers the policy has
 * @throws {TypeError} when the cost is no whole number from 0
 */
export function chargeOf(
  policy: BoundPolicy,
  identity: string,
  cost: number,
  mode: ChargeMode = modeOf(policy),
  override?: number,
): PolicyCharge {
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw new TypeError(`the cost of policy '${policy.name}' must be a whole number from 0, got ${shown(cost)}`);
  }
  return {
    policy,
    identity,
    key: policy.globalKey ?? keyOf(policy.keyPrefix, identity, policy.keyTail),
    algorithm: policy.algorithm.lease?.grant ?? policy.algorithm,
    cost,
    headroom: policy.headroom,
    mode,
    policyKey: policy.keyTail,
    global: policy.globalKey !== undefined,
    shardKeys: policy.shardKeys,
    override,
    found: undefined,
    shadow: policy.shadow,
    alternative: false,
    block: policy.block === undefined ? undefined : blockOf(policy, policy.block, identity, cost, mode),
    entry: UNKNOWN_ENTRY,
    openKey: UNKNOWN_ENTRY,
    instead: undefined,
    insteadOf: undefined,
    late: undefined,
  };
}

/** The mode of a policy's charges: `'reserve'` if the policy is settled after the response. */
export function modeOf(policy: BoundPolicy): ChargeMode {
  return isSettled(policy) ? 'reserve' : 'take';
}

/**
 * A charge in place of `head`, which the request does not fit: settled as that one is.
 *
 * @param charge of the policy that the `else` of the head's policy names
 */
export function inPlaceOf(head: PolicyCharge, charge: PolicyCharge): PolicyCharge {
  const placed = { ...charge, insteadOf: head.policy.name };
  return head.mode === 'peek' ? peekOf(placed) : { ...placed, mode: head.mode };
}

/**
 * A charge under the numbers of an override, in the place that `given` has in its request.
 *
 * @param own the charge that is kept for all requests of the override
 */
export function inItsPlace(own: PolicyCharge, given: PolicyCharge): PolicyCharge {
  const { insteadOf, alternative, shortfall } = given;
  if (insteadOf === undefined && !alternative && shortfall === undefined) return own;
  return { ...own, insteadOf, alternative, shortfall };
}

function blockOf(
  { blockTail, globalKey, keyPrefix, name, shadow }: BoundPolicy,
  algorithm: AnyBlockAlgorithm,
  identity: string,
  cost: number,
  mode: ChargeMode,
): BlockCharge {
  const tag = globalKey === undefined ? identity : globalTag(name);
  const counts = cost > 0 && mode !== 'peek' ? 1 : 0;
  return { key: keyOf(keyPrefix, tag, blockTail!), algorithm, cost: counts, shadow, entry: UNKNOWN_ENTRY };
}
