import { chargeOf, type PolicyCharge } from '../../libs/floodgate/src/charges/policy-charge.js';
import { bindPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { ChargeMode } from '../../libs/floodgate/src/stores/charge.js';

/** One charge of each policy, for one identity. */
export function chargesFor(policies: readonly Policy[], mode: ChargeMode = 'take'): PolicyCharge[] {
  return policies.map((policy) =>
    chargeOf(bindPolicy(parsePolicy(policy, 'test'), 'rl', 'app', 'test'), 'user:ada', 1, mode),
  );
}

/** A policy of one request a day. */
export function once(name: string): Policy {
  return { name, algorithm: 'fixed-window', limit: 1, window: '1d' };
}
