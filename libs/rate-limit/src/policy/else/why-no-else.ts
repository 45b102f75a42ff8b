import { shown } from '../../util/config-error.js';
import type { ParsedPolicy } from '../parse-policy.js';

/** Why a policy cannot have an `else`; undefined when it can, or has none. */
export function whyNoElse({
  name,
  elseName,
  shadow,
  block,
}: Pick<ParsedPolicy, 'name' | 'elseName' | 'shadow' | 'block'>): string | undefined {
  if (elseName === undefined) return undefined;
  if (elseName === name) return `else: ${shown(elseName)} is the policy itself: name another one`;
  if (shadow) return `else has no effect with mode: 'shadow', which rejects nobody: leave it out`;
  if (block === undefined) return undefined;
  return `else does not go with blockFor: a client whose requests another policy takes would be blocked all the same`;
}
