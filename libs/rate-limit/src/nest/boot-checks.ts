import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { PolicySource } from './types.js';
import { RATE_LIMIT } from './decorators/metadata.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import type { Handler } from './route.js';

/** A method that Nest calls for a request, a message or a field. */
export interface LimitableHandler {
  readonly type: Type;
  readonly handler: Handler;
  readonly adapter: ContextAdapter;
  /** Class and method, `'RidesController.request'`. */
  readonly name: string;
}

/** The handlers of all contexts, those of HTTP routes first. */
export function* limitableHandlers(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  contexts: Iterable<ContextAdapter>,
): Iterable<LimitableHandler> {
  const places = { controllers: classesOf(discovery.getControllers()), providers: classesOf(discovery.getProviders()) };
  for (const adapter of contexts) {
    for (const type of places[adapter.place]) {
      const prototype = type.prototype as Readonly<Record<string, Handler>>;
      for (const method of scanner.getAllMethodNames(prototype)) {
        const handler = prototype[method]!;
        if (adapter.isHandler(type, handler)) yield { type, handler, adapter, name: `${type.name}.${method}` };
      }
    }
  }
}

/** Where `@RateLimit` has no effect, as `Jobs.send`: on methods that no context calls, and on classes without any other. */
export function decoratedInVain(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  contexts: Iterable<ContextAdapter>,
): string[] {
  const limitable = new Map<Type, Set<Handler>>();
  for (const { type, handler } of limitableHandlers(discovery, scanner, contexts)) {
    const handlers = limitable.get(type);
    if (handlers === undefined) limitable.set(type, new Set([handler]));
    else handlers.add(handler);
  }
  const all = new Set([...classesOf(discovery.getControllers()), ...classesOf(discovery.getProviders())]);
  return [...all].flatMap((type) => inVainIn(type, limitable.get(type) ?? new Set(), scanner));
}

function inVainIn(type: Type, limitable: ReadonlySet<Handler>, scanner: MetadataScanner): string[] {
  const prototype = type.prototype as Readonly<Record<string, Handler>>;
  const methods = scanner.getAllMethodNames(prototype);
  const inVain = methods.filter((method) => !limitable.has(prototype[method]!) && isLimited(prototype[method]!));
  const names = inVain.map((method) => `${type.name}.${method}`);
  return limitable.size === 0 && isLimited(type) ? [type.name, ...names] : names;
}

/** `@SkipRateLimit` leaves no policies, and is right wherever nothing is limited. */
function isLimited(decorated: object): boolean {
  return ((Reflect.getMetadata(RATE_LIMIT, decorated) as readonly PolicySource[] | undefined) ?? []).length > 0;
}

/** The classes behind controllers or providers. A provider may also be a value, or made by an arrow function. */
function classesOf(wrappers: ReturnType<DiscoveryService['getProviders']>): Type[] {
  const all = wrappers.map(({ metatype }) => metatype as unknown);
  const isType = (type: unknown): type is Type => typeof type === 'function' && typeof type.prototype === 'object';
  return [...new Set(all)].filter(isType);
}
