import type { ExecutionContext } from '@nestjs/common';
import { type Logger, type ParsedPolicy, type PolicyChecks, shown, withHelp } from 'floodgate/internal';
import { FORMATS_WITH_UNITS, meantInSeconds, type Monitor, type NamedPolicies, ROOMS } from 'floodgate/internal-boot';
import type { CheckedOptions } from '../options/check-options.js';
import type { Route, RoutePolicies } from '../routes/route-policies.js';
import type { BoundPolicy } from '../types.js';
import type { LimitableHandler } from '../contexts/limitable-handlers.js';
import { checkOnePlace } from '../routes/middleware-and-routes.js';
import { checkPlans } from '../routes/plan-checks.js';

/** A plain number of `plan.cacheFor` below this was probably meant in seconds. Milliseconds. */
const SHORT_CACHE_MS = 1_000;

/** What the checks of routes read. */
export interface RouteSources {
  readonly options: CheckedOptions;
  /** The module's `policies`. */
  readonly policies: NamedPolicies<ExecutionContext>;
  /** The module's `middleware`. */
  readonly middleware: Route | undefined;
  readonly routes: RoutePolicies;
  readonly checks: PolicyChecks;
  readonly monitor: Pick<Monitor, 'expectIdentities'>;
}

/**
 * Checks the policies of every handler and of the middleware at boot, and warns of what has no effect.
 *
 * @throws {RateLimitConfigError} for a policy that cannot work
 */
export function checkRoutes(
  handlers: readonly LimitableHandler[],
  { options, policies, middleware, routes, checks, monitor }: RouteSources,
  logger: Pick<Logger, 'warn'>,
): void {
  const known: ParsedPolicy<ExecutionContext>[] = [...policies];
  const check = (route: Route | undefined, where: string): void => {
    known.push(...(route?.unconditional ?? []));
    for (const policy of route?.staticPolicies ?? []) {
      if (asksForKind(policy)) monitor.expectIdentities(policy.name);
      checks.check(policy, where);
      for (const warning of [tooManyPlaces(policy, options), idleUnit(policy, options)]) {
        if (warning !== undefined) logger.warn(withHelp(`${where}: ${warning[0]}`, warning[1]));
      }
    }
  };
  check(middleware, 'RateLimitModule, middleware');
  for (const { type, handler, name, adapter } of handlers) {
    const route = routes.of(type, handler);
    checkOnePlace(middleware?.unconditional ?? [], route?.unconditional ?? [], adapter.type, name);
    check(route, name);
  }
  if (options.plan !== undefined) checkPlans(options.plan, policies, routes);
  const short = meantInSeconds('plan.cacheFor', options.plan?.cacheFor, SHORT_CACHE_MS);
  if (short !== undefined) logger.warn(withHelp(`RateLimitModule: ${short}`, 'FG_POLICY_NUMBERS'));
  for (const { idle } of ROOMS) {
    const problem = idle?.(known, options.given(), routes.hasChoosers);
    if (problem !== undefined) logger.warn(withHelp(`RateLimitModule: ${problem}`, 'FG_OPTION_WITHOUT_EFFECT'));
  }
}

type Warning = readonly [text: string, code: 'FG_OPTION_WITHOUT_EFFECT' | 'FG_QUEUE_TOO_LONG'];

function idleUnit(
  { name, quotaUnit, algorithm, shadow }: BoundPolicy,
  { headers }: CheckedOptions,
): Warning | undefined {
  // A concurrency has its unit by default.
  if (shadow || quotaUnit === 'requests' || algorithm.lease !== undefined || FORMATS_WITH_UNITS.includes(headers))
    return undefined;
  return [
    `quotaUnit of policy '${name}' has no effect on headers: ${shown(headers)}; it needs headers: ${FORMATS_WITH_UNITS.map(shown).join(' or ')}`,
    'FG_OPTION_WITHOUT_EFFECT',
  ];
}

/** Warns of a queue that is longer than the requests that may wait in a process: 503s begin before the queue is full. */
function tooManyPlaces(
  { name, algorithm, by, cost, shadow }: BoundPolicy,
  options: CheckedOptions,
): Warning | undefined {
  const option = by === 'global' ? 'maxWaiting' : 'maxWaitingPerClient';
  const places = Math.floor(algorithm.limit / (Number(cost) || 1));
  if (shadow || !algorithm.delays || !(places > options[option])) return undefined;
  return [
    `of the ${places} requests that fit the queue of policy '${name}', ${options[option]} at most ` +
      `can wait in one process: ${option} is ${options[option]}`,
    'FG_QUEUE_TOO_LONG',
  ];
}

/** Whether requests may lack the identity that the policy asks for. */
function asksForKind({ by }: BoundPolicy): boolean {
  return by === 'user' || by === 'api-key' || typeof by === 'function';
}
