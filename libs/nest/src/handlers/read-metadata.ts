import type { Type } from '@nestjs/common';
import { type Decoration, RATE_LIMIT } from './metadata.js';
import { declaredHandler, type Handler, type Method, methodOf } from './route.js';

/** The metadata of the decorators on a class; undefined without one. */
export function classDecoration(type: Type): Decoration | undefined {
  return Reflect.getMetadata(RATE_LIMIT, type) as Decoration | undefined;
}

/** The metadata of the decorators on a handler; undefined without one. */
export function decorationOf(type: Type, handler: Handler): Decoration | undefined {
  return methodMetadata(RATE_LIMIT, type, handler) as Decoration | undefined;
}

const methods = new WeakMap<object, Method | null>();

/** The metadata of a method, whatever function stands in its place now. */
export function methodMetadata(key: string, type: Type, handler: Handler): unknown {
  const own: unknown = Reflect.getMetadata(key, handler);
  if (own !== undefined) return own;
  let method = methods.get(handler);
  if (method === undefined) {
    method = methodOf(type.prototype as object, declaredHandler(type, handler)) ?? null;
    methods.set(handler, method);
  }
  // A method that overrides a decorated one has decorators of its own, and inherits none.
  return method === null ? undefined : Reflect.getOwnMetadata(key, method.owner, method.property);
}
