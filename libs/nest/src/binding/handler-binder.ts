import type { Type } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, GUARDS_METADATA, INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { algorithmEntry, isPolicyUse } from 'floodgate/internal-boot';
import { GlobalGuards } from '../boot/global-guards.js';
import { LocalFilter } from '../boot/local-filters.js';
import { isStreamCall } from '../contexts/grpc.js';
import { limitableHandlers } from '../contexts/limitable-handlers.js';
import { asksForDecision } from '../decisions/decision-parameters.js';
import { letAsk } from '../decisions/let-ask.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { isChooser } from '../routes/policy-choices.js';
import { sourcesOf } from '../routes/route-sources.js';
import type { PolicySource } from '../types.js';
import { CALL_INTERCEPTOR } from './call.interceptor.js';

/**
 * Binds to single handlers, as decorators of Nest would:
 * - the interceptor of outcomes, where a policy needs it
 * - outside of HTTP the interceptor of `@RateLimitDecision()`: routes find the decision on their request
 * - the global guards, where Nest calls none: for messages in a hybrid application, whose `connectMicroservice` has a configuration of
 *   its own without `inheritAppConfig`, and for gateways on Nest 11
 * - the filter of rejections, where Nest calls no global filters: for gateways, and for the handlers of `@GrpcStreamCall`, whose errors
 *   end the process
 *
 * The constructor binds while Nest makes the providers: routes, messages and `connectMicroservice` read the metadata before any hook is called.
 */
export class HandlerBinder {
  constructor(
    { contexts, options: { defaults, policies } }: RateLimitRuntime,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    guards: GlobalGuards,
    filter: LocalFilter,
  ) {
    const guarded = new Set<Type>();
    const filtered = new Set<Type>();
    for (const { type, handler, method, adapter } of limitableHandlers(discovery, scanner, contexts)) {
      const { sources } = sourcesOf(type, handler, defaults);
      if (sources.some(({ source }) => needsInterceptor(source, adapter.type, policies))) {
        bind(INTERCEPTORS_METADATA, CALL_INTERCEPTOR, handler);
      }
      if (adapter.type !== 'http' && asksForDecision(type, method)) {
        const interceptor = letAsk(handler, adapter.type);
        if (interceptor !== undefined) bind(INTERCEPTORS_METADATA, interceptor, handler);
      }
      if (adapter.type === 'rpc' || adapter.type === 'ws') {
        bind(GUARDS_METADATA, GlobalGuards, handler);
        guarded.add(type);
      }
      const isGateway = adapter.type === 'ws';
      if (adapter.caught !== undefined && (isGateway || (adapter.type === 'rpc' && isStreamCall(handler)))) {
        bind(EXCEPTION_FILTERS_METADATA, LocalFilter, isGateway ? type : handler);
        filtered.add(type);
      }
    }
    giveModules(discovery, guarded, GlobalGuards, guards);
    giveModules(discovery, filtered, LocalFilter, filter);
  }
}

/** Binds once, in front of other guards, interceptors and filters. Nest asks the last filter first, so this filter answers last. */
function bind(key: string, bindable: object, place: object): void {
  const bound = (Reflect.getMetadata(key, place) as readonly unknown[] | undefined) ?? [];
  if (!bound.includes(bindable)) Reflect.defineMetadata(key, [bindable, ...bound], place);
}

/** Gives the instance to the modules of these types: Nest has collected the classes of guards and filters by then. */
function giveModules(discovery: DiscoveryService, types: ReadonlySet<Type>, bindable: Type, instance: object): void {
  const wrappers = [...discovery.getControllers(), ...discovery.getProviders()];
  const own = wrappers.find((wrapper) => wrapper.instance === instance)!;
  for (const { metatype, host } of wrappers) {
    if (types.has(metatype as Type)) host?.injectables.set(bindable, own);
  }
}

/**
 * Whether a policy asks what its handlers return or throw, or waits for their end in a context where only an interceptor sees it. A
 * function may choose one of the module's policies.
 */
function needsInterceptor(
  source: PolicySource,
  context: string,
  policies: Readonly<Record<string, PolicySource>> = {},
): boolean {
  if (isChooser(source)) return context !== 'http' || Object.values(policies).some(isSettled);
  const name = isPolicyUse(source) ? source.policy : source;
  const policy = typeof name === 'string' ? policies[name] : name;
  if (isSettled(policy)) return true;
  // The end of an HTTP request is that of its response.
  return context !== 'http' && rowOf(policy as PolicyLike | undefined, policies).some(isLease);
}

/** A policy, and the one that its `else` leads to. */
function rowOf(
  first: PolicyLike | undefined,
  policies: Readonly<Record<string, PolicySource>>,
): readonly (PolicyLike | undefined)[] {
  const next = first?.else;
  return typeof next === 'string' ? [first, policies[next] as PolicyLike | undefined] : [first];
}

function isLease(policy: PolicyLike | undefined): boolean {
  return algorithmEntry(policy?.algorithm)?.leases === true;
}

/** A policy before it is checked. */
interface PolicyLike {
  readonly algorithm?: unknown;
  readonly else?: unknown;
  readonly countIf?: unknown;
  readonly settle?: unknown;
}

function isSettled(policy: PolicySource | undefined): boolean {
  const { countIf, settle } = (policy ?? {}) as PolicyLike;
  return countIf !== undefined || settle !== undefined;
}
