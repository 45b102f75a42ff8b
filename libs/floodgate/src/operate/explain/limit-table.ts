import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OnStoreFailure, PlanNumbers, PolicyMode, PolicyNumbers } from '../../policy/policy.js';
import { givenTerms, type PrefetchOptions } from '../../policy/prefetch.js';
import { timeZoneFunction } from '../../policy/time-zone-function.js';
import type { CalendarWindow } from '../../algorithms/fixed-window/calendar.js';
import type { AlgorithmName } from '../../algorithms/core/algorithm.js';
import type { OverrideChange } from '../../layers/overrides/override.js';
import type { OnMissingIdentity } from '../../identity/identity.js';

const MICROSECONDS = 1000;

/**
 * The origin of a handler's policies. `'skipped'`: `@SkipRateLimit`; `'none'`: neither the handler nor the module's
 * `defaults` has any.
 */
export type PolicyOrigin = 'method' | 'class' | 'defaults' | 'skipped' | 'none';

/** An override as this process knows it. */
export interface TableOverride {
  /** The number in `PolicyDecision.override`. */
  readonly version: number;
  readonly change: OverrideChange;
  /** An identity's tag, or `'everyone'`; null where the policy counts all clients together. */
  readonly identity: string | null;
  /** The one place where it holds; null: wherever the policy stands. */
  readonly scope: string | null;
  /** An ISO text by the store's clock; null: it does not end by itself. */
  readonly expiresAt: string | null;
}

/** A policy as plain data. */
export interface TablePolicy {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  /** The algorithm's own options as they were given, such as `capacity` and `refill`; `timeZone: 'function'` where a function says it. */
  readonly numbers: PolicyNumbers;
  /** What its state belongs to: a route such as `'POST /api/rides'`, a controller, or `'app'`. As in `ResetState.scope`. */
  readonly scope: string;
  /** The identity that it counts; `'function'` where the application's own function says so. */
  readonly by: 'client' | 'ip' | 'user' | 'api-key' | 'global' | 'function';
  readonly onMissingIdentity: OnMissingIdentity;
  /** What a request takes; `'function'` where a function says so. */
  readonly cost: number | 'function';
  /** Whether a function leaves out some requests (`skipIf`). */
  readonly skips: boolean;
  /** The function that says after the response what a request has cost in the end; null without one. */
  readonly settles: 'countIf' | 'settle' | null;
  /** When a request's charge expires, in milliseconds; null where it does not. */
  readonly expiresMs: number | null;
  /** The final cost then: 0 for `'cancel'`. Null where it does not expire. */
  readonly atExpiry: number | null;
  /** What requests get while the store cannot decide. */
  readonly onStoreFailure: OnStoreFailure;
  /** The numbers of each plan, complete; null without plans. */
  readonly plans: Readonly<Record<string, PolicyNumbers>> | null;
  /** How many keys share its state on a Cluster. */
  readonly shards: number;
  /** The classes and the part of the limit that each may fill, the most important one first; null where requests are alike. */
  readonly priorities: Readonly<Record<string, number>> | null;
  /** The class of its requests; `'function'` where a function says so, null without `priorities`. */
  readonly priority: string | null;
  /** The policy that takes a request which does not fit this one; null without one. */
  readonly else: string | null;
  /** What processes charge ahead of demand, `for` in milliseconds; null without it. */
  readonly prefetch: PrefetchOptions | null;
  /** `'shadow'`: it rejects no request. */
  readonly mode: PolicyMode;
  /** `blockFor` in milliseconds: a list where blocks escalate. Null without it. */
  readonly blockForMs: number | readonly number[] | null;
  /** Rejections that begin a block; null without `blockFor`. */
  readonly blockAfter: number | null;
  /** The parts of the limit at which `onThreshold` is called; null without them. */
  readonly thresholds: readonly number[] | null;
  /** The override for all its clients that is in force in this process; null without one. Its numbers are not in `numbers`. */
  readonly override: TableOverride | null;
}

/** A handler and what limits it. */
export interface TableRoute {
  /** What kind of context calls it: `'http'`, `'graphql'`, `'rpc'`, `'ws'` or one of your own. */
  readonly context: string;
  /** Class and method, `'RidesController.request'`. */
  readonly handler: string;
  /** The declared method and path without the global prefix, `'POST /rides'`; in other contexts as `handler`. */
  readonly route: string;
  readonly origin: PolicyOrigin;
  /** Whether `RateLimitGuard` guards it. Without the guard its policies have no effect. */
  readonly guarded: boolean;
  /** Whether a function chooses some of its policies by the request: those are not in `policies`. */
  readonly chosen: boolean;
  /** Whether one of its policies can reject requests. Shadows and `middleware` policies do not count. */
  readonly limited: boolean;
  /** Whether the module's `shed` can reject its requests. */
  readonly sheds: boolean;
  /** The policies in the order of charging. */
  readonly policies: readonly TablePolicy[];
}

/** What limits all HTTP traffic before it is routed. */
export interface TableMiddleware {
  readonly chosen: boolean;
  readonly policies: readonly TablePolicy[];
  /** The paths that it leaves out. */
  readonly except: readonly string[];
}

/** The limits of all handlers, as plain data that can be serialised. */
export interface LimitTable {
  readonly middleware: TableMiddleware;
  /** Every handler, also those that nothing limits. Those of HTTP come first. */
  readonly routes: readonly TableRoute[];
  /** The policies of the module's `policies`, as `RateLimiter` charges them. */
  readonly named: readonly TablePolicy[];
}

/** The module's options that apply to a policy without its own. */
export interface PolicyDefaults {
  readonly onStoreFailure: OnStoreFailure;
  readonly onMissingIdentity: OnMissingIdentity;
}

/** A handler, as the framework knows it. */
export interface KnownHandler extends Omit<TableRoute, 'limited' | 'policies'> {
  readonly policies: readonly BoundPolicy[];
  /** Whether the policies of all traffic count its requests. */
  readonly countedBefore: boolean;
}

/** A handler as plain data, with each of its policies as `shown` has it. */
export function tableRoute(handler: KnownHandler, shown: (policy: BoundPolicy) => TablePolicy): TableRoute {
  const { context, handler: name, route, origin, guarded, chosen, sheds } = handler;
  const policies = handler.policies.map(shown);
  const limited = guarded && (chosen || policies.some(({ mode }) => mode === 'enforce'));
  return { context, handler: name, route, origin, guarded, chosen, limited, sheds, policies };
}

/** A policy's numbers as plain data: `'function'` in place of a function that says the time zone. */
export function plainNumbers(numbers: PlanNumbers): PolicyNumbers {
  const { window } = numbers;
  if (timeZoneFunction(window) === undefined) return { ...numbers } as PolicyNumbers;
  return { ...numbers, window: { ...(window as CalendarWindow), timeZone: 'function' } };
}

/**
 * A policy as plain data.
 *
 * @param override that for all its clients; null without one
 */
export function tablePolicy(
  policy: BoundPolicy,
  defaults: PolicyDefaults,
  override: TableOverride | null,
): TablePolicy {
  const { name, algorithm, numbers, boundTo, by, cost, skipIf, plans, shards, priorities, block } = policy;
  return {
    name,
    algorithm: algorithm.name,
    numbers: plainNumbers(numbers),
    scope: boundTo,
    by: typeof by === 'function' ? 'function' : by,
    onMissingIdentity: policy.onMissingIdentity ?? defaults.onMissingIdentity,
    cost: typeof cost === 'function' ? 'function' : cost,
    skips: skipIf !== undefined,
    settles: settledBy(policy),
    expiresMs: policy.expiry === undefined ? null : policy.expiry.after / MICROSECONDS,
    atExpiry: policy.expiry?.finalCost ?? null,
    onStoreFailure: policy.onStoreFailure ?? defaults.onStoreFailure,
    plans:
      plans === undefined
        ? null
        : Object.fromEntries([...plans].map(([plan, one]) => [plan, plainNumbers(one.numbers)])),
    shards,
    priorities: priorities === undefined ? null : Object.fromEntries(priorities),
    priority: policy.priorityOf === undefined ? (policy.priority ?? null) : 'function',
    else: policy.elseName ?? null,
    prefetch: givenTerms(policy.prefetch) ?? null,
    mode: modeOf(policy),
    blockForMs: block === undefined ? null : blockForMs(block.durations),
    blockAfter: block?.after ?? null,
    thresholds: policy.thresholds ?? null,
    override,
  };
}

/** The option `mode` of a policy. */
export function modeOf({ shadow }: Pick<BoundPolicy, 'shadow'>): PolicyMode {
  return shadow ? 'shadow' : 'enforce';
}

function settledBy({ countIf, settle }: BoundPolicy): TablePolicy['settles'] {
  if (countIf !== undefined) return 'countIf';
  return settle === undefined ? null : 'settle';
}

function blockForMs(durations: readonly number[]): number | readonly number[] {
  const all = durations.map((duration) => duration / MICROSECONDS);
  return all.length === 1 ? all[0]! : all;
}
