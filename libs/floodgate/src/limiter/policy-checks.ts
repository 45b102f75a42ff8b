import type { NamedPolicies } from '../policy/named-policies.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import { lackOf, type StoreTraits } from '../stores/traits.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { meantInSeconds } from '../util/duration.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import type { Monitor } from '../watch/monitor.js';
import type { OptionRule } from '../util/option-rules.js';
import type { LimiterOptions } from './limiter-options.js';
import { LIMITER_OPTIONS } from './options-table.js';

/** What limiters with routes and without routes check and warn of, before anything is decided. */
export class PolicyChecks {
  constructor(
    private readonly traits: StoreTraits,
    private readonly monitor: Pick<Monitor, 'policies'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /**
   * Checks the options of a limiter, and its named policies.
   *
   * @param where what the options were given to
   * @throws {RateLimitConfigError} as `check` does
   */
  checkOptions(given: Readonly<LimiterOptions>, policies: NamedPolicies, where: string): void {
    for (const policy of policies) {
      this.check(policy, `${where}, policies`);
      for (const warning of policy.warnings) {
        this.logger.warn(withHelp(`'${policy.name}': ${warning}`, 'FG_POLICY_NUMBERS'));
      }
    }
    for (const [option, { shortMs = 0 }] of Object.entries<OptionRule>(LIMITER_OPTIONS)) {
      const short = meantInSeconds(option, given[option as keyof LimiterOptions], shortMs);
      if (short !== undefined) this.logger.warn(withHelp(`${where}: ${short}`, 'FG_POLICY_NUMBERS'));
    }
  }

  /**
   * Checks that the store knows the policy's options: an application's store may not know all. Registers the policy in the
   * metrics, so that its counters begin at zero and not at its first request.
   *
   * @throws {RateLimitConfigError} for an option that the store would ignore
   */
  check(policy: ParsedPolicy, where: string): void {
    const { name, prefetch } = policy;
    this.monitor.policies.expect(policy);
    const { whyNoPrefetch, ...traits } = this.traits;
    const lack = lackOf(traits, policy) ?? (prefetch && !traits.prefetch ? whyNoPrefetch : undefined);
    if (lack !== undefined) throw new RateLimitConfigError(`${where}, policy '${name}'`, lack, 'FG_INVALID_POLICY');
    if (prefetch === undefined || traits.prefetch) return;
    this.logger.warn(
      withHelp(
        `${where}: prefetch of policy '${name}' has no effect with this store, which decides each request: it needs Redis, or a store ` +
          `whose supports include 'prefetch'`,
        'FG_OPTION_WITHOUT_EFFECT',
      ),
    );
  }
}
