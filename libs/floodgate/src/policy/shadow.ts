import { shown } from '../util/config-error.js';

/** The options of a policy in shadow that have no effect, as warnings. */
export function withoutEffectInShadow({
  onStoreFailure,
  onMissingIdentity,
  quotaUnit,
  thresholds,
}: Readonly<Record<string, unknown>>): string[] {
  const warnings: string[] = [];
  const warn = (option: string, value: unknown, instead: string): void => {
    warnings.push(`${option}: ${shown(value)} has no effect with mode: 'shadow', ${instead}`);
  };
  if (onStoreFailure === 'closed') {
    warn('onStoreFailure', onStoreFailure, 'which rejects nobody: it counts nothing while the store is away');
  }
  if (onMissingIdentity === 'reject' || onMissingIdentity === 'throw') {
    warn('onMissingIdentity', onMissingIdentity, 'which rejects nobody: it counts no request without an identity');
  }
  if (quotaUnit !== undefined) warn('quotaUnit', quotaUnit, 'which sets no header');
  if (thresholds !== undefined)
    warn('thresholds', thresholds, 'which tells nobody: add them when the policy is enforced');
  return warnings;
}
