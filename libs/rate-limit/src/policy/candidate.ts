import { RateLimitConfigError, shown } from '../util/config-error.js';
import { checkNames, readOption } from '../util/option-rules.js';
import { isName, POLICY_OPTIONS } from './policy-options.js';

type Options = Readonly<Record<string, unknown>>;

const CODE = 'FG_INVALID_POLICY';

/** The name of a policy's candidate. */
export function candidateName(policy: string): string {
  return `${policy}.candidate`;
}

/**
 * The options of the policy that `candidate` stands for: those of the given one with other numbers, in shadow. Undefined without
 * a candidate.
 *
 * @param baseName the name of the given policy
 * @param numbers the algorithm's own options
 * @param where how error messages begin
 * @throws {RateLimitConfigError} for a candidate that changes nothing, or anything else
 */
export function optionsOfCandidate(
  { candidate, ...given }: Options,
  baseName: string,
  numbers: readonly string[],
  where: string,
): Options | undefined {
  if (candidate === undefined) return undefined;
  const fail = (problem: string): never => {
    throw new RateLimitConfigError(where, problem, CODE);
  };
  if (typeof candidate !== 'object' || candidate === null || Array.isArray(candidate)) {
    return fail(`candidate must be an object with another ${numbers.join(' or ')}, got ${shown(candidate)}`);
  }
  checkNames(candidate, [...numbers, 'plans'], where, 'a candidate');
  if (Object.values(candidate).every((value) => value === undefined)) {
    fail(`candidate must change ${numbers.join(', ')} or plans, got none of them`);
  }
  const name = candidateName(baseName);
  if (!isName(name)) fail(`its name would be ${shown(name)}, which is too long: give the policy a shorter name`);
  // They have no effect on a shadow. The policy itself is warned of a unit without effect.
  const { quotaUnit: _unit, thresholds: _levels, onStoreFailure, ...rest } = given;
  const failure = onStoreFailure === 'closed' ? {} : { onStoreFailure };
  const plans = plansOf(given.plans, (candidate as { readonly plans?: unknown }).plans, where);
  return { ...rest, ...failure, ...candidate, ...(plans && { plans }), name, mode: 'shadow' };
}

/** The options of a policy in shadow that have no effect. */
export function withoutEffectInShadow({ onStoreFailure, onMissingIdentity, quotaUnit, thresholds }: Options): string[] {
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

/** The policy's plans, with the candidate's changes. A plan that the candidate does not name keeps its numbers. */
function plansOf(own: unknown, tried: unknown, where: string): object | undefined {
  const given = readOption({ plans: tried }, 'plans', POLICY_OPTIONS.plans, where, CODE) as object | undefined;
  if (given === undefined || typeof own !== 'object' || own === null) return given ?? (own as object | undefined);
  const merged: Record<string, unknown> = { ...own };
  for (const [plan, numbers] of Object.entries(given)) {
    const known = merged[plan];
    const both = typeof numbers === 'object' && numbers !== null && typeof known === 'object' && known !== null;
    merged[plan] = both ? { ...known, ...numbers } : numbers;
  }
  return merged;
}
