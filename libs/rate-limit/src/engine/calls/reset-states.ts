import { globalTag } from '../../identity/identity-tag.js';
import { type BoundPolicy, keyTailsInAllZones } from '../../policy/bound-policy.js';
import { keyOf } from '../../policy/key.js';
import type { Engine } from '../engine.js';

/** A state that `reset` has cleared. */
export interface ResetState {
  /** The policy's name. */
  readonly policy: string;
  /** What the state belongs to: `'app'`, a route such as `'POST /api/rides/request'`, or a controller. */
  readonly scope: string;
}

/**
 * Clears the states of an identity under the policies, with their blocks, for each plan, override and time zone.
 *
 * @param identity the identity's tag; undefined where all policies count all clients together
 */
export async function resetStates(
  engine: Pick<Engine, 'charge' | 'overriddenCharge' | 'reset'>,
  policies: readonly BoundPolicy[],
  identity: string | undefined,
): Promise<readonly ResetState[]> {
  const states = new Map<string, ResetState>();
  const keys = new Set<string>();
  for (const policy of policies) {
    const tag = policy.globalKey === undefined && identity !== undefined ? identity : globalTag(policy.name);
    const { key } = engine.charge(policy, tag, 0, 'peek');
    if (states.has(key)) continue;
    states.set(key, { policy: policy.name, scope: policy.boundTo });
    for (const numbers of [policy, ...(policy.plans?.values() ?? [])]) {
      const charge = engine.charge(numbers, tag, 0, 'peek');
      for (const { key: its, shardKeys = [] } of [charge, engine.overriddenCharge(numbers, tag) ?? charge]) {
        for (const one of [its, ...shardKeys]) keys.add(one); // a window's key has no limit
      }
      if (charge.block !== undefined) keys.add(charge.block.key);
      for (const tail of keyTailsInAllZones(numbers)) keys.add(keyOf(numbers.keyPrefix, tag, tail));
    }
  }
  if (keys.size > 0) await engine.reset([...keys]);
  return [...states.values()];
}
