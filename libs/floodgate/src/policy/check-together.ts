import { RateLimitConfigError } from '../util/config-error.js';
import type { BoundPolicy } from './bound-policy.js';
import { withElse } from './else-policies.js';
import { whyNotBeside } from './together.js';

/** More policies do not fit one call to Redis. More than a handful is a mistake. */
const MAX_TOGETHER = 32;

/**
 * Checks the policies of one request.
 *
 * @throws {RateLimitConfigError} for two policies of one name, whose keys would be equal, and for two that cannot stand beside each other
 */
export function checkTogether(given: readonly BoundPolicy[], where: string): void {
  const policies = withElse(given);
  if (policies.length < 2) return;
  // Each block has a state of its own.
  const blocks = policies.filter(({ block }) => block !== undefined).length;
  if (policies.length + blocks > MAX_TOGETHER) {
    throw new RateLimitConfigError(
      where,
      `at most ${MAX_TOGETHER} policies can stand together, got ${policies.length}${blocks > 0 ? ` and ${blocks} with blockFor, which count twice` : ''}`,
      'FG_POLICIES_TOGETHER',
    );
  }
  if (policies.filter(({ named }) => !named).length > 1) {
    throw new RateLimitConfigError(
      where,
      `${policies.length} policies stand together and not all have a name: give each its own`,
      'FG_POLICY_NAME',
    );
  }
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    const by = given.flatMap((policy) => (policy.else?.name === twice ? `'${policy.name}'` : []));
    throw new RateLimitConfigError(
      where,
      by.length === 0
        ? `two policies are named '${twice}' and would count under one key: give each its own name`
        : `the policy '${twice}' would be charged twice for one request: the else of ${by.join(' and of ')} leads to it` +
            `${by.length > 1 ? '' : ', and it stands beside'}. Let a request run over to it from one policy`,
      'FG_POLICY_NAME',
    );
  }
  for (const [i, one] of given.entries()) {
    for (const other of given.slice(i + 1)) {
      const why = whyNotBeside(one, other);
      if (why !== undefined) throw new RateLimitConfigError(where, why, 'FG_POLICIES_TOGETHER');
    }
  }
}
