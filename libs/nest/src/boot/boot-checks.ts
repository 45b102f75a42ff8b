import type { Type } from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { classOf } from 'floodgate/internal-boot';
import { boundGuards, globalGuards } from '../guard/application-guard.js';
import { isGuardClass, RateLimitGuard } from '../guard/rate-limit.guard.js';
import { firstNames } from '../handlers/first-names.js';
import { classDecoration, decorationOf } from '../handlers/read-metadata.js';
import { classesOf, type LimitableHandler } from '../contexts/limitable-handlers.js';
import { isField } from '../contexts/graphql.js';
import type { Handler } from '../handlers/route.js';

/** Warnings about handlers that no policy limits, although the configuration looks as if one did. */
export function warningsOfHandlers(
  handlers: readonly LimitableHandler[],
  discovery: DiscoveryService,
  scanner: MetadataScanner,
): string[] {
  return [
    ...decoratedInVain(handlers, discovery, scanner).map(
      (name) =>
        `${name}: @RateLimit has no effect there: it limits routes, resolvers and message handlers; count jobs, events and others with ` +
        `RateLimiter.consume`,
    ),
    ...unguardedFields(handlers, discovery).map(
      (name) =>
        `${name}: @RateLimit has no effect there: Nest calls resolvers of fields without guards, unless the options of ` +
        `GraphQLModule have fieldResolverEnhancers: ['guards']`,
    ),
  ];
}

/**
 * Names the places where `@RateLimit` has no effect, such as `Jobs.send`: on methods that no context calls, and on classes without a
 * method that a context calls.
 */
function decoratedInVain(
  handlers: readonly LimitableHandler[],
  discovery: DiscoveryService,
  scanner: MetadataScanner,
): string[] {
  const limitable = new Map<Type, Set<Handler>>();
  for (const { type, handler } of handlers) {
    const known = limitable.get(type);
    if (known === undefined) limitable.set(type, new Set([handler]));
    else known.add(handler);
  }
  const all = new Set([...classesOf(discovery.getControllers()), ...classesOf(discovery.getProviders())]);
  return [...all].flatMap((type) => inVainIn(type, limitable.get(type) ?? new Set(), scanner));
}

function inVainIn(type: Type, limitable: ReadonlySet<Handler>, scanner: MetadataScanner): string[] {
  const prototype = type.prototype as Readonly<Record<string, Handler>>;
  const inVain = scanner
    .getAllMethodNames(prototype)
    .filter((method) => !limitable.has(prototype[method]!) && isLimited(type, prototype[method]!));
  const places = inVain.map((method) => `${type.name}.${method}`);
  return limitable.size === 0 && classDecoration(type)?.policies !== undefined ? [type.name, ...places] : places;
}

/**
 * Finds the resolvers of fields that have `@RateLimit` and no guards. Nest calls these without guards, unless the options of its
 * GraphQL module name `'guards'`.
 */
function unguardedFields(handlers: readonly LimitableHandler[], discovery: DiscoveryService): string[] {
  const modules = discovery.getProviders().filter(({ token }) => token === 'GqlModuleOptions');
  const guards = modules.some(({ instance }) =>
    (instance as { fieldResolverEnhancers?: readonly string[] } | undefined)?.fieldResolverEnhancers?.includes(
      'guards',
    ),
  );
  if (guards) return [];
  return handlers
    .filter(({ adapter, type, handler }) => adapter.type === 'graphql' && isField(handler) && isLimited(type, handler))
    .map(({ name }) => name);
}

/** Whether `@RateLimit` limits a method. `@SkipRateLimit` alone is allowed where nothing is limited. */
function isLimited(type: Type, method: Handler): boolean {
  return decorationOf(type, method)?.policies !== undefined;
}

/**
 * Warns of the rate limit's guards on classes and methods where the module's own guard comes first, because a request is charged once.
 * A subclass that is bound for all routes may leave requests to these guards.
 */
export function guardsInVain(application: ApplicationConfig, all: readonly LimitableHandler[]): string | undefined {
  if (!globalGuards(application).some((guard) => classOf(guard) === RateLimitGuard)) return undefined;
  const bound = all.flatMap(({ type, handler, name }) => {
    const guards = boundGuards(type, handler).filter(isGuardClass);
    return guards.length === 0 ? [] : [{ name, guards: guards.map(nameOf) }];
  });
  if (bound.length === 0) return undefined;
  const guards = [...new Set(bound.flatMap((one) => one.guards))];
  const isOne = guards.length === 1;
  return (
    `${firstNames(bound.map(({ name }) => name))}: ${guards.join(' and ')} ${isOne ? 'has' : 'have'} no effect there, because a ` +
    `RateLimitGuard is bound for all routes and decides before. Leave ${isOne ? 'it' : 'them'} out; or bind none for all routes ` +
    `(guard: false in RateLimitModule), and one wherever a policy stands`
  );
}

function nameOf(guard: unknown): string {
  return typeof guard === 'function' ? guard.name : (guard as object).constructor.name;
}
