import type {
  OverrideChange,
  OverrideHistoryEntry,
  OverrideOptions,
  OverridePage,
  OverridePageOptions,
  OverrideRemoval,
  OverrideTarget,
  RateLimitOverride,
} from '../../layers/overrides/override.js';
import type { OverrideCalls } from './override-calls.js';

/**
 * Other limits for one client, or for everyone, under one policy: other numbers, `exempt` or `blocked`, for a while or until they are removed.
 * Inject it where the module is imported.
 *
 * Overrides are kept in Redis, under the module's `keyPrefix`. The process that sets one obeys at once, and every other one
 * within a second. A decision asks Redis nothing more. While Redis is unavailable, the last known overrides stay in force.
 * Without Redis they are kept in this process and end with it.
 *
 * @example
 * ```ts
 * await overrides.set(
 *   { policy: 'api', identity: { kind: 'user', value: 'tenant-7' } },
 *   { capacity: 1_000, refill: 500 },
 *   { expiresIn: '24h', author: 'ada@example.com', reason: 'launch day' },
 * );
 * ```
 */
export class RateLimitOverrides {
  /** @internal The module makes it; inject it. */
  constructor(private readonly calls: OverrideCalls) {}

  /**
   * Sets an override, in place of the one that is there. Numbers that the change leaves out stay those of the policy, or of the
   * client's plan.
   *
   * @returns the override, with its version
   * @throws {RateLimitConfigError} for numbers that would stop the boot as well, an unknown policy, a wrong option, and an identity that the
   *   policy does not count
   * @throws {OverrideConflictError} when another change came first and `ifVersion` is given
   * @throws {TooManyOverridesError} when there are 100,000 overrides
   * @throws {RateLimitStoreError} when Redis does not answer; the override may have been set
   */
  set(target: OverrideTarget, change: OverrideChange, options?: OverrideOptions): Promise<RateLimitOverride> {
    return this.calls.set(target, change, options);
  }

  /**
   * The override of exactly this target; undefined without one. An override of all scopes is not that of one scope.
   *
   * @throws {RateLimitStoreError} when Redis does not answer
   */
  get(target: OverrideTarget): Promise<RateLimitOverride | undefined> {
    return this.calls.get(target);
  }

  /**
   * All overrides, in the order of their last changes. An override that is changed while its list is read comes again later.
   *
   * @throws {RateLimitStoreError} when Redis does not answer
   * @example
   * ```ts
   * let cursor: string | undefined;
   * do {
   *   const page = await overrides.list({ cursor });
   *   show(page.items);
   *   cursor = page.cursor;
   * } while (cursor !== undefined);
   * ```
   */
  list(options?: OverridePageOptions): Promise<OverridePage<RateLimitOverride>> {
    return this.calls.list(options);
  }

  /**
   * Removes the override of exactly this target: the policy's own numbers, or the plan's, are in force again.
   *
   * @returns false if there was none
   * @throws {OverrideConflictError} when another change came first and `ifVersion` is given
   * @throws {RateLimitStoreError} when Redis does not answer; the override may have been removed
   */
  remove(target: OverrideTarget, options?: OverrideRemoval): Promise<boolean> {
    return this.calls.remove(target, options);
  }

  /**
   * Lists the last 10,000 changes of all overrides with their authors, instants and reasons, the latest first. An end by `expiresIn` is
   * not listed: see `expiresAtMs`.
   *
   * @param target the changes of exactly this override; default those of all
   * @throws {RateLimitStoreError} when Redis does not answer
   */
  history(target?: OverrideTarget, options?: OverridePageOptions): Promise<OverridePage<OverrideHistoryEntry>> {
    return this.calls.history(target, options);
  }
}
