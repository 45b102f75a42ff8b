import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type Handler, isRoute } from '../route.js';
import type { PolicySource } from '../../policy/policy.js';
import { RATE_LIMIT } from './metadata.js';

/**
 * Where `@RateLimit` stands in vain, as `ChatGateway.message`: on what handles no HTTP routes, such as gateways, resolvers,
 * consumers of messages and services.
 */
export function decoratedInVain(discovery: DiscoveryService, scanner: MetadataScanner): string[] {
  const controllers = new Set(discovery.getControllers().map(({ metatype }) => metatype));
  const all = new Set([...controllers, ...discovery.getProviders().map(({ metatype }) => metatype)]);
  return [...all].flatMap((type) => placesIn(type, controllers.has(type), scanner));
}

function placesIn(type: unknown, isController: boolean, scanner: MetadataScanner): string[] {
  // A provider may be a value, or made by an arrow function, which has no prototype.
  if (typeof type !== 'function' || typeof type.prototype !== 'object') return [];
  const prototype = type.prototype as Readonly<Record<string, Handler>>;
  const methods = scanner.getAllMethodNames(prototype);
  const routes = isController ? methods.filter((method) => isRoute(prototype[method]!)) : [];
  const inVain = methods.filter((method) => !routes.includes(method) && isLimited(prototype[method]!));
  const places = inVain.map((method) => `${type.name}.${method}`);
  return routes.length === 0 && isLimited(type) ? [type.name, ...places] : places;
}

/** `@SkipRateLimit` leaves no policies, and is right wherever nothing is limited. */
function isLimited(decorated: object): boolean {
  return ((Reflect.getMetadata(RATE_LIMIT, decorated) as readonly PolicySource[] | undefined) ?? []).length > 0;
}
