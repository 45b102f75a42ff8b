import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { PolicySource } from './types.js';
import { RATE_LIMIT } from './decorators/metadata.js';
import { type Handler, isRoute } from './route.js';

/** A method that Nest calls for an HTTP request. */
export interface HttpHandler {
  readonly controller: Type;
  readonly handler: Handler;
  /** Class and method, `'RidesController.request'`. */
  readonly name: string;
}

/** The handlers of all HTTP routes of the application. */
export function* httpHandlers(discovery: DiscoveryService, scanner: MetadataScanner): Iterable<HttpHandler> {
  for (const { metatype } of discovery.getControllers()) {
    if (typeof metatype !== 'function') continue;
    const prototype = metatype.prototype as Readonly<Record<string, Handler>>;
    for (const method of scanner.getAllMethodNames(prototype)) {
      const handler = prototype[method]!;
      if (isRoute(handler)) yield { controller: metatype as Type, handler, name: `${metatype.name}.${method}` };
    }
  }
}

/**
 * Where `@RateLimit` has no effect, as `ChatGateway.message`: on gateways, resolvers, consumers of messages and services, which
 * handle no HTTP routes.
 */
export function decoratedInVain(discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  const controllers = new Set(discovery.getControllers().map(({ metatype }) => metatype));
  return typesOf(discovery).flatMap((type) => inVainIn(type, controllers.has(type), scanner));
}

function inVainIn(type: Type, isController: boolean, scanner: MetadataScanner): string[] {
  const prototype = type.prototype as Readonly<Record<string, Handler>>;
  const methods = scanner.getAllMethodNames(prototype);
  const routes = isController ? methods.filter((method) => isRoute(prototype[method]!)) : [];
  const inVain = methods.filter((method) => !routes.includes(method) && isLimited(prototype[method]!));
  const names = inVain.map((method) => `${type.name}.${method}`);
  return routes.length === 0 && isLimited(type) ? [type.name, ...names] : names;
}

/** `@SkipRateLimit` leaves no policies, and is right wherever nothing is limited. */
function isLimited(decorated: object): boolean {
  return ((Reflect.getMetadata(RATE_LIMIT, decorated) as readonly PolicySource[] | undefined) ?? []).length > 0;
}

/** Metadata of handlers that are not HTTP: what Nest's packages for them leave on classes and methods. */
const OTHER_CLASSES = { 'websockets:is_gateway': 'a WebSocket gateway', 'graphql:resolver_type': 'a GraphQL resolver' };
const OTHER_METHODS = {
  'microservices:pattern': 'a message handler',
  'graphql:resolver_type': 'a GraphQL resolver',
};

/** Handlers that no guard of HTTP routes limits, as `ChatGateway (a WebSocket gateway)`; one for each class. */
export function otherHandlers(discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  return typesOf(discovery).flatMap((type) => {
    const kind = kindOf(type, OTHER_CLASSES) ?? kindOfMethods(type, scanner);
    return kind === undefined ? [] : [`${type.name} (${kind})`];
  });
}

function kindOfMethods(type: Type, scanner: MetadataScanner): string | undefined {
  const prototype = type.prototype as Readonly<Record<string, Handler>>;
  for (const method of scanner.getAllMethodNames(prototype)) {
    const kind = kindOf(prototype[method]!, OTHER_METHODS);
    if (kind !== undefined) return kind;
  }
  return undefined;
}

function kindOf(decorated: object, kinds: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(kinds).find(([metadata]) => Reflect.hasMetadata(metadata, decorated))?.[1];
}

/** The classes of controllers and providers. A provider may also be a value, or made by an arrow function. */
function typesOf(discovery: DiscoveryService): Type[] {
  const all = [...discovery.getControllers(), ...discovery.getProviders()].map(({ metatype }) => metatype as unknown);
  const isType = (type: unknown): type is Type => typeof type === 'function' && typeof type.prototype === 'object';
  return [...new Set(all)].filter(isType);
}
