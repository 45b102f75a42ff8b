import type { HeaderSetter, RateLimiter } from './rate-limiter.js';
import type { HandlerDirectory } from '../operate/explain/limit-references.js';
import { TimeZones } from '../functions/time-zones.js';
import { UserFunctions } from '../functions/user-functions.js';
import { decisionHeaders, retryAfterSeconds } from '../http/headers.js';
import { ClockOffset } from '../http/headers/clock-offset.js';
import { DEFAULT_IPV6_PREFIX } from '../identity/address.js';
import { Monitor } from '../watch/monitor.js';
import type { Decision } from '../policy/decision.js';
import { NamedPolicies } from '../policy/named-policies.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { Logger } from '../util/logger.js';
import type { LimiterOptions } from './limiter-options.js';
import { type LimitedRoutes, LimiterParts } from './limiter-parts.js';
import { openStore } from './open-store.js';
import type { OpenedStore } from './opened-store.js';
import { type CheckedLimiterOptions, readLimiterOptions } from './options-table.js';

/** Makes the limiter of `createLimiter`. */
export async function openLimiter(options: LimiterOptions): Promise<RateLimiter> {
  const checked = readLimiterOptions(options, 'createLimiter');
  const logger = checked.logger ?? PROBLEMS_ONLY;
  const monitor = new Monitor(checked, logger);
  return partsAlone(checked, await openStore(checked, monitor, logger), logger, monitor).limiter;
}

/** The parts of a limiter that has no routes, over a store that is opened. */
export function partsAlone(
  options: CheckedLimiterOptions,
  opened: OpenedStore,
  logger: Logger,
  monitor: Monitor = new Monitor(options, logger),
): LimiterParts {
  const functions = new UserFunctions(options.deadlineMs, monitor, logger);
  return new LimiterParts(
    { ...options, ...WITHOUT_REQUESTS },
    opened,
    monitor,
    functions,
    {
      policies: new NamedPolicies(options.policies, options.where, false),
      routes: NO_ROUTES,
      handlers: NO_HANDLERS,
      headers: NODE_HEADERS,
      plans: undefined,
      timeZones: new TimeZones<never>(functions, (context) => context),
      kinds: [],
      ipv6Prefix: DEFAULT_IPV6_PREFIX,
      findsIdentities: () => false,
    },
    logger,
  );
}

/** The settings of requests, as the module has them by default. */
const WITHOUT_REQUESTS = { onMissingIdentity: 'ip', maxWaiting: 10_000, maxWaitingPerClient: 100 } as const;

const PROBLEMS_ONLY: Logger = {
  log: () => undefined,
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
};

const NO_ROUTES: LimitedRoutes = { boundTo: () => [], policyNames: () => [] };

const NO_HANDLERS: HandlerDirectory = {
  middleware: { chosen: false, policies: [], except: [] },
  handlers: () => [],
  handlerOf({ name }, method, where) {
    throw new RateLimitConfigError(where, `${name}.${method} is no route: this limiter has none`, 'FG_UNKNOWN_ROUTE');
  },
};

/** Sets headers on the responses of Node's own server, and of those that extend them. */
const NODE_HEADERS: HeaderSetter = {
  set(target: object, decision: Decision): boolean {
    const response = target as { readonly headersSent?: unknown; setHeader?: (name: string, value: string) => unknown };
    if (typeof response.setHeader !== 'function') {
      throw new RateLimitConfigError(
        'RateLimiter.setHeaders',
        `takes a response of Node, which has setHeader, got ${shown(target)}`,
      );
    }
    if (response.headersSent === true) return false;
    const headers = decisionHeaders(decision, Date.now(), { headers: 'x-ratelimit', offset: new ClockOffset() });
    for (const [name, value] of headers) response.setHeader(name, value);
    if (decision.allowed || decision.retryAfterMs === null) return true;
    response.setHeader('Retry-After', String(retryAfterSeconds(decision.retryAfterMs)));
    return true;
  },
};
