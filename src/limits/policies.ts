import type { ConfigService } from '@nestjs/config';
import type {
  FixedWindowPolicy,
  Policy,
  RateLimitRequest,
  TimeZoneFunction,
  TokenBucketPolicy,
} from 'nestjs-floodgate';
import type { ModelPolicies } from 'nestjs-floodgate/llm';
import type { Configuration } from '../config/configuration.js';
import { batchCost } from './position-batch.js';
import { accountNamed } from './account-named.js';

// Every policy of the application. docs/demo.md quotes this file.

const MINUTE_MS = 60_000;

/** Riders: a short burst is a person, a high average is a script. The numbers are those of the plan `free`. */
export const RIDES = {
  name: 'rider',
  algorithm: 'token-bucket',
  capacity: 20,
  refill: 10,
  plans: { plus: { capacity: 40, refill: 20 } },
} as const satisfies Policy;

export const FARES = { ...RIDES } as const satisfies Policy;

/** A map that a rider drags sends many requests. */
export const NEARBY = {
  name: 'rider',
  algorithm: 'token-bucket',
  capacity: 30,
  refill: 15,
  plans: { plus: { capacity: 60, refill: '30/s' } },
} as const satisfies Policy;

/** One client gets at most half of the queue of `LOCATION_INDEX`. Clients without a name are counted by their address. */
export const REPORTER = {
  name: 'reporter',
  algorithm: 'token-bucket',
  capacity: 2500,
  refill: 1500,
  cost: batchCost,
} as const satisfies Policy;

/** Protects the index of drivers: the reports of all clients wait in one queue. */
export const LOCATION_INDEX = {
  name: 'location-index',
  algorithm: 'leaky-bucket',
  capacity: 5000,
  drain: 3000,
  by: 'global',
  cost: batchCost,
} as const satisfies Policy;

export const HISTORY = { algorithm: 'sliding-window-counter', limit: 30, window: MINUTE_MS } as const satisfies Policy;

export const ZONE_STATS = { algorithm: 'fixed-window', limit: 60, window: MINUTE_MS } as const satisfies Policy;

/** Surge changes are few and critical, so an exact log is worth its memory. */
export const ZONE_SURGE = { algorithm: 'sliding-window-log', limit: 5, window: MINUTE_MS } as const satisfies Policy;

/** People change plans by hand. */
export const RIDER_PLAN = { algorithm: 'sliding-window-log', limit: 30, window: MINUTE_MS } as const satisfies Policy;

/** The name of the policy of wrong tokens at `/api/admin/limits`. `OperatorGuard` charges it. */
export const ADMIN_TOKENS = 'admin-tokens';

/** Wrong tokens of one address. Enough for an operator who mistypes, and for 20 right ones at once. */
export const adminTokensLimit = {
  algorithm: 'fixed-window',
  limit: 20,
  window: 15 * MINUTE_MS,
  by: 'ip',
} as const satisfies Policy;

/** Each attempt takes processor time for the password's hash, also a successful one, and one whose client does not wait. */
export const LOGIN_ADDRESS = {
  name: 'login-address',
  algorithm: 'token-bucket',
  capacity: 60,
  refill: 1,
  by: 'ip',
} as const satisfies Policy;

/**
 * Only wrong passwords count, and attempts whose client does not wait for the answer. They are charged before the check, so that
 * parallel guesses cannot pass.
 */
export const LOGIN_ACCOUNT = {
  name: 'login-account',
  algorithm: 'sliding-window-log',
  limit: 5,
  window: '15m',
  by: accountNamed,
  countIf: ({ status, aborted }) => status === 401 || aborted,
} as const satisfies Policy;

/** Two exports of a rider at once. */
export const EXPORTS = {
  name: 'exports',
  algorithm: 'concurrency',
  limit: 2,
  lease: '30s',
  by: 'user',
} as const satisfies Policy;

/** A rider's budget of tokens, whichever model writes. */
export const SUMMARY_TOKENS = {
  name: 'summary-tokens',
  algorithm: 'token-bucket',
  capacity: 6000,
  refill: '6000/d',
  by: 'user',
  plans: { plus: { capacity: 30_000, refill: '30000/d' } },
} as const satisfies Policy;

/** What the models may use in a day for all riders together. */
const A_DAY = { algorithm: 'fixed-window', window: { calendar: 'day' }, by: 'global' } as const;
export const SMALL_MODEL_TOKENS = { name: 'small-model-tokens', ...A_DAY, limit: 2_000_000 } as const satisfies Policy;
export const LARGE_MODEL_TOKENS = { name: 'large-model-tokens', ...A_DAY, limit: 500_000 } as const satisfies Policy;

/** The budgets that a call of each model is charged to, all or none. */
export const MODEL_LIMITS: Readonly<Record<string, ModelPolicies>> = {
  'pretend-small': { tokens: [SUMMARY_TOKENS, SMALL_MODEL_TOKENS] },
  'pretend-large': { tokens: [SUMMARY_TOKENS, LARGE_MODEL_TOKENS] },
};

/** What the vendor of the language model lets all pods send together. Calls beyond it wait for their turn. */
export const MODEL_CALLS = {
  name: 'model-calls',
  algorithm: 'token-bucket',
  capacity: 100,
  refill: 50,
  by: 'global',
} as const satisfies Policy;

/** Milliseconds for which a rider waits for the model's turn. */
export const MODEL_WAIT_MS = 10_000;

export const TIPS = {
  name: 'tips',
  algorithm: 'fixed-window',
  limit: 10,
  window: MINUTE_MS,
  by: 'user',
} as const satisfies Policy;

/** What the payment provider takes from all pods together: calls leave evenly, one each 20 ms. */
export const PAYMENT_CALLS = {
  name: 'payment-calls',
  algorithm: 'leaky-bucket',
  capacity: 100,
  drain: 50,
  by: 'global',
} as const satisfies Policy;

/** Milliseconds for which a rider waits for the provider's turn. */
export const PAYMENT_WAIT_MS = 5_000;

/** The most trips in one request for summaries. */
export const MAX_SUMMARIES = 10;

/** The name of the policy that counts a rider's summaries by the day. */
export const DAILY_SUMMARIES = 'summaries';

/**
 * The summaries of a rider's day.
 *
 * @param timeZone the zone of the rider's account: a rider who could choose it would have a quota in each
 */
export function dailySummaries(timeZone: TimeZoneFunction): FixedWindowPolicy {
  return {
    algorithm: 'fixed-window',
    limit: 20,
    window: { calendar: 'day', timeZone },
    plans: { plus: { limit: 100 } },
    by: 'user',
    scope: 'app',
    cost: summariesAsked,
    countIf: ({ error }) => error === undefined,
    thresholds: [0.8, 1],
  };
}

/** The trips of a request. Its body is not validated yet. */
function summariesAsked({ body }: RateLimitRequest<{ body?: { trip_ids?: unknown } }>): number {
  const ids = body?.trip_ids;
  return Array.isArray(ids) && ids.length > 0 && ids.length <= MAX_SUMMARIES ? ids.length : 1;
}

/** The name of the policy that several routes share: those that matching has to work for. */
export const MATCHING_LIMIT = 'matching';

/** What fare estimates may fill of the burst of matching's limit. The rest stays free for rides. */
const ESTIMATES_PART = 0.5;

/**
 * Protects the matching service: one bucket for all riders, sized by the environment.
 *
 * The riders' own limits do not protect it, since a thousand riders within their limits are still too many. Both limits are
 * one atomic step, so a request that one of them rejects is not charged to the other. In a rush, fare estimates give way before
 * ride requests.
 */
export function matchingLimit(config: ConfigService<Configuration, true>): TokenBucketPolicy {
  const { burst, perSecond } = config.get('matchingLimit', { infer: true });
  const ridersOnly = config.get('rateLimit', { infer: true }) === 'riders';
  return {
    algorithm: 'token-bucket',
    capacity: burst,
    refill: `${perSecond}/s`,
    by: 'global',
    scope: 'app',
    // A burst of 1 has nothing to keep free.
    priorities: { rides: 1, estimates: Math.max(ESTIMATES_PART, 1 / burst) },
    ...(ridersOnly && { skipIf: () => true }),
  };
}
