import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { ContextAdapter } from './context-adapter.js';
import type { Handler } from '../handlers/route.js';
import { prototypeOf } from 'floodgate/internal';

/** A method that Nest calls for a request, a message or a field. */
export interface LimitableHandler {
  readonly type: Type;
  readonly handler: Handler;
  readonly adapter: ContextAdapter;
  /** The name of the method on its class. */
  readonly method: string;
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
        if (adapter.isHandler(type, handler)) yield { type, handler, adapter, method, name: `${type.name}.${method}` };
      }
    }
  }
}

/** The classes behind controllers or providers. A provider may also be a value, or made by a factory. */
export function classesOf(wrappers: ReturnType<DiscoveryService['getProviders']>): Type[] {
  const classes = wrappers.filter(({ isNotMetatype }) => !isNotMetatype).map(({ metatype }) => metatype as Type);
  return [...new Set(classes)].filter((type) => prototypeOf(type) !== undefined);
}
