import { chargeOf } from '../charges/policy-charge.js';
import { globalTag } from '../identity/identity-tag.js';
import { type BoundPolicy, keyTailsInAllZones } from '../policy/bound-policy.js';
import { keyOf } from '../policy/key.js';
import type { CallCharges } from '../engine/calls/call-charges.js';
import type { Engine } from '../engine/engine.js';
import { pauseKey } from '../layers/pauses/stored-pauses.js';

/** A state that `reset` has cleared. */
export interface ResetState {
  /** The policy's name. */
  readonly policy: string;
  /** What the state belongs to: `'app'`, a route such as `'POST /api/rides/request'`, or a controller. */
  readonly scope: string;
  /** Whether the store had a state there. Null where a store of your own does not say. */
  readonly found: boolean | null;
}

/**
 * Clears the states of an identity under the policies, with their blocks and pauses, for each plan, override and time zone.
 *
 * @param identity the identity's tag; undefined where all policies count all clients together
 */
export async function resetStates(
  engine: Pick<Engine, 'overriddenCharge' | 'reset'>,
  charges: Pick<CallCharges, 'underAllPlans'>,
  policies: readonly BoundPolicy[],
  identity: string | undefined,
): Promise<readonly ResetState[]> {
  const states = new Map<string, { readonly policy: BoundPolicy; readonly keys: Set<string> }>();
  for (const policy of policies) {
    const tag = policy.globalKey === undefined && identity !== undefined ? identity : globalTag(policy.name);
    const { key } = chargeOf(policy, tag, 0, 'peek');
    if (!states.has(key)) states.set(key, { policy, keys: keysOf(engine, charges.underAllPlans(policy, tag), tag) });
  }
  return Promise.all(
    Array.from(states.values(), async ({ policy, keys }): Promise<ResetState> => {
      const count = await engine.reset([...keys]);
      const found = typeof count === 'number' ? count > 0 : null;
      return { policy: policy.name, scope: policy.boundTo, found };
    }),
  );
}

/** The keys of an identity under the variants of a policy. */
function keysOf(engine: Pick<Engine, 'overriddenCharge'>, variants: readonly BoundPolicy[], tag: string): Set<string> {
  const keys = new Set<string>();
  for (const numbers of variants) {
    const charge = chargeOf(numbers, tag, 0, 'peek');
    for (const { key, shardKeys = [] } of [charge, engine.overriddenCharge(numbers, tag) ?? charge]) {
      for (const one of [key, ...shardKeys]) keys.add(one); // a window's key has no limit
    }
    if (charge.block !== undefined) keys.add(charge.block.key);
    if (numbers.boundTo === 'app') keys.add(pauseKey(numbers, tag));
    for (const tail of keyTailsInAllZones(numbers)) keys.add(keyOf(numbers.keyPrefix, tag, tail));
  }
  return keys;
}
