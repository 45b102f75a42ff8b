import type { ExecutionContext } from '@nestjs/common';
import { saysUnits } from '../../http/headers.js';
import type { Monitor } from '../../watch/monitor.js';
import type { NamedPolicies } from '../../policy/named-policies.js';
import type { ParsedPolicy } from '../../policy/parse-policy.js';
import { lackOf, type StoreTraits } from '../../stores/traits.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import type { CheckedOptions } from '../options/check-options.js';
import type { Route, RoutePolicies } from '../routes/route-policies.js';
import type { BoundPolicy } from '../types.js';
import type { LimitableHandler } from '../contexts/limitable-handlers.js';
import { checkOnePlace } from '../routes/middleware-and-routes.js';
import { checkPlans } from '../routes/plan-checks.js';
import { PriorityLines } from './priority-lines.js';
import { idleThresholds } from './threshold-checks.js';

/** What the checks of policies read. */
export interface PolicySources {
  readonly options: CheckedOptions;
  /** The module's `policies`. */
  readonly policies: NamedPolicies<ExecutionContext>;
  /** The module's `middleware`. */
  readonly middleware: Route | undefined;
  readonly routes: RoutePolicies;
  readonly traits: StoreTraits;
  readonly monitor: Pick<Monitor, 'policies' | 'expectIdentities'>;
}

/** Checks every policy of the application at boot, registers it in the metrics, and warns of what has no effect. */
export class PolicyChecks {
  private readonly classes = new PriorityLines();

  constructor(
    private readonly sources: PolicySources,
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
  ) {}

  /** @throws {RateLimitConfigError} for a policy that cannot work */
  check(handlers: readonly LimitableHandler[]): void {
    const { options, policies, middleware, routes, monitor } = this.sources;
    const known: ParsedPolicy<ExecutionContext>[] = [...policies, ...(middleware?.unconditional ?? [])];
    for (const policy of policies) {
      this.expectSupport(policy, 'RateLimitModule, policies');
      for (const warning of policy.warnings) {
        this.logger.warn(withHelp(`'${policy.name}': ${warning}`, 'FG_POLICY_NUMBERS'));
      }
      this.classes.add(policy, 'RateLimitModule, policies');
      monitor.policies.expect(policy);
      if (policy.candidate !== undefined) monitor.policies.expect(policy.candidate);
    }
    for (const policy of middleware?.staticPolicies ?? []) {
      this.expect(policy, 'RateLimitModule, middleware');
      this.expectSupport(policy, 'RateLimitModule, middleware');
      this.warnOfUnit(policy, 'RateLimitModule, middleware');
    }
    for (const { type, handler, name, adapter } of handlers) {
      const route = routes.of(type, handler);
      known.push(...(route?.unconditional ?? []));
      checkOnePlace(middleware?.unconditional ?? [], route?.unconditional ?? [], adapter.type, name);
      for (const policy of route?.staticPolicies ?? []) {
        this.expect(policy, name);
        this.expectSupport(policy, name);
        this.warnOfUnit(policy, name);
      }
    }
    for (const line of this.classes.lines()) this.logger.log(line);
    if (options.plan !== undefined) checkPlans(options.plan, policies, routes);
    const idle = idleThresholds(known, options.onThreshold !== undefined, routes.hasChoosers);
    if (idle !== undefined) this.logger.warn(withHelp(idle, 'FG_OPTION_WITHOUT_EFFECT'));
  }

  /** Registers a policy in the metrics, so that its counters begin at zero and not at its first request. */
  private expect(policy: BoundPolicy, where: string): void {
    const { monitor } = this.sources;
    monitor.policies.expect(policy);
    this.classes.add(policy, where);
    if (asksForKind(policy)) monitor.expectIdentities(policy.name);
    this.warnOfPlaces(policy, where);
  }

  /** Checks that the store knows the policy's options: an application's store may not know all. */
  private expectSupport(policy: ParsedPolicy<ExecutionContext>, where: string): void {
    const { traits } = this.sources;
    const lack = lackOf(traits, policy) ?? (policy.candidate && lackOf(traits, policy.candidate));
    if (lack !== undefined)
      throw new RateLimitConfigError(`${where}, policy '${policy.name}'`, lack, 'FG_INVALID_POLICY');
    if (policy.prefetch !== undefined && !traits.prefetch) this.expectPrefetch(policy, where);
  }

  /**
   * Checks that a policy's `prefetch` has an effect: in the process, or with a store that does not support it, it would save
   * nothing.
   */
  private expectPrefetch({ name }: ParsedPolicy<ExecutionContext>, where: string): void {
    const { whyNoPrefetch: why } = this.sources.traits;
    if (why !== undefined) throw new RateLimitConfigError(`${where}, policy '${name}'`, why, 'FG_INVALID_POLICY');
    this.logger.warn(
      withHelp(
        `${where}: prefetch of policy '${name}' has no effect with this store, which decides each request: it needs Redis, or a store ` +
          `whose supports include 'prefetch'`,
        'FG_OPTION_WITHOUT_EFFECT',
      ),
    );
  }

  private warnOfUnit({ name, quotaUnit, algorithm, shadow }: BoundPolicy, where: string): void {
    const { headers } = this.sources.options;
    // A concurrency has its unit by default.
    if (shadow || quotaUnit === 'requests' || algorithm.lease !== undefined || saysUnits(headers)) return;
    this.logger.warn(
      withHelp(
        `${where}: quotaUnit of policy '${name}' has no effect on headers: ${shown(headers)}; it needs headers: 'draft' or 'both'`,
        'FG_OPTION_WITHOUT_EFFECT',
      ),
    );
  }

  /** Warns if a queue is longer than the requests that may wait in a process: 503s begin before the queue is full. */
  private warnOfPlaces({ name, algorithm, by, cost, shadow }: BoundPolicy, where: string): void {
    const { options } = this.sources;
    const option = by === 'global' ? 'maxWaiting' : 'maxWaitingPerClient';
    const places = Math.floor(algorithm.limit / (Number(cost) || 1));
    if (shadow || !algorithm.delays || !(places > options[option])) return;
    this.logger.warn(
      withHelp(
        `${where}: of the ${places} requests that fit the queue of policy '${name}', ${options[option]} at most ` +
          `can wait in one process: ${option} is ${options[option]}`,
        'FG_QUEUE_TOO_LONG',
      ),
    );
  }
}

/** Whether requests may lack the identity that the policy asks for. */
function asksForKind({ by }: BoundPolicy): boolean {
  return by === 'user' || by === 'api-key' || typeof by === 'function';
}
