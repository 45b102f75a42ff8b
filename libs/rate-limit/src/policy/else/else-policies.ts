import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { type BoundPolicy, canDelay } from '../bound-policy.js';
import type { ParsedPolicy } from '../parse-policy.js';

/** The most policies of a row: the first one, and what its `else` leads to. */
export const MAX_ROW = 4;

/**
 * Checks the policy that an `else` leads to.
 *
 * @param row the policies before it, the first one of the row first
 * @param where how error messages begin
 * @throws {RateLimitConfigError} for a row that is too long or leads back, and for a policy that cannot stand behind an `else`
 */
export function checkElse<Context>(
  policy: ParsedPolicy<Context>,
  row: readonly ParsedPolicy<Context>[],
  where: string,
): void {
  const { name, skipIf, countIf, settle, candidate } = policy;
  const names = row.map((one) => one.name);
  const fail = (problem: string): never => {
    throw new RateLimitConfigError(where, `else: ${shown(name)} ${problem}`, 'FG_INVALID_POLICY');
  };
  if (names.includes(name)) fail(`leads back to itself: ${[...names, name].join(' -> ')}`);
  if (row.length >= MAX_ROW) fail(`makes a row of more than ${MAX_ROW} policies: ${[...names, name].join(' -> ')}`);
  if (policy.shadow) fail(`is in shadow, which rejects nobody: leave out its mode: 'shadow'`);
  if (canDelay(policy)) fail(`is a leaky-bucket, for whose slot a request would have to wait: use a token-bucket`);
  const unused = countIf !== undefined ? 'countIf' : settle !== undefined ? 'settle' : candidate && 'candidate';
  if (unused !== undefined) fail(`has a ${unused}, which has no effect behind an else: give it to the first policy`);
  if (skipIf !== undefined) fail('has a skipIf, which would let requests pass uncounted: give it to the first policy');
  const before = row.findLast((one) => one.priorities !== undefined);
  if (before === undefined || policy.priorities === undefined || policy.hasPriority) return;
  const unknown = [...before.priorities!.keys()].find((one) => !policy.priorities!.has(one));
  if (unknown === undefined) return;
  fail(
    `takes requests in their class, and has no class ${shown(unknown)}, as policy ${shown(before.name)} does: ` +
      `give it the same classes, or a priority of its own`,
  );
}

/** The policies with those that their `else` leads to, each behind the one that it stands in for. */
export function withElse<Context>(policies: readonly BoundPolicy<Context>[]): readonly BoundPolicy<Context>[] {
  if (policies.every((policy) => policy.else === undefined)) return policies;
  return policies.flatMap((policy) => {
    const row = [policy];
    for (let next = policy.else; next !== undefined; next = next.else) row.push(next);
    return row;
  });
}
