import { isDeepStrictEqual } from 'node:util';
import { type ExecutionContext, RequestMethod, type Type, VERSION_NEUTRAL } from '@nestjs/common';
import { HOST_METADATA, METHOD_METADATA, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';

/** The method that handles a route. An inherited method is routed through several classes. */
export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** Whether Nest routes requests to the handler. */
export function isRoute(handler: Handler): boolean {
  return Reflect.hasMetadata(PATH_METADATA, handler) && Reflect.hasMetadata(METHOD_METADATA, handler);
}

/**
 * A handler's declared method and first path, such as `POST /api/rides/request`, with version and host where they are declared.
 * The spelling of a request cannot change it: case, slashes, HEAD for GET, a second path of the handler.
 */
export function routeOf(controller: Type, handler: Handler): string {
  const own = {
    method: Reflect.getMetadata(METHOD_METADATA, handler),
    path: Reflect.getMetadata(PATH_METADATA, handler),
  };
  if (own.path === undefined) return handlerNameOf(controller, handler);
  const path = pathOf(controller, handler);
  const version = declared(
    Reflect.getMetadata(VERSION_METADATA, handler) ?? Reflect.getMetadata(VERSION_METADATA, controller),
  );
  const host = declared(Reflect.getMetadata(HOST_METADATA, controller));
  return `${RequestMethod[own.method]} ${host === '' ? '' : `${host} `}${path}${version === '' ? '' : ` v${version}`}`;
}

/** A handler's declared first path, without the application's prefix. */
export function pathOf(controller: Type, handler: Handler): string {
  return joined(...[controller, handler].map((place) => first(Reflect.getMetadata(PATH_METADATA, place))));
}

/** Class and method, such as `RidesController.request`. */
export function handlerNameOf({ name, prototype }: Type, handler: Handler): string {
  return `${name}.${handler.name === '' ? (methodOf(prototype as object, handler)?.property ?? '') : handler.name}`;
}

/**
 * The method of the class that a handler stands for. Tracing gives guards a wrapper of the method, such as OpenTelemetry's
 * instrumentation of Nest, and a request-scoped controller another one for each request.
 */
export function declaredHandler(controller: Type, handler: Handler): Handler {
  const prototype = controller.prototype as object;
  if (methodOf(prototype, handler) !== undefined) return handler;
  const named: unknown = Reflect.get(prototype, handler.name);
  if (typeof named === 'function' && !(isRoute(named) && isRoute(handler) && !isSameRoute(named, handler)))
    return named;
  const methods = new MetadataScanner()
    .getAllMethodNames(prototype)
    .map((name) => Reflect.get(prototype, name) as Handler);
  const same = methods.filter((method) => isRoute(method) && isRoute(handler) && isSameRoute(method, handler));
  return same.length === 1 ? same[0]! : handler;
}

function isSameRoute(one: Handler, other: Handler): boolean {
  return [METHOD_METADATA, PATH_METADATA, VERSION_METADATA].every((key) =>
    isDeepStrictEqual(Reflect.getMetadata(key, one), Reflect.getMetadata(key, other)),
  );
}

/** A method's name, and the class's prototype that has it. */
export interface Method {
  readonly owner: object;
  readonly property: string;
}

/**
 * Finds a method by its function, on the class or a base class. A decorator such as `@GrpcStreamMethod` may have put a function of
 * another name into the method's place.
 */
export function methodOf(prototype: object | null, handler: object): Method | undefined {
  if (prototype === null || prototype === undefined) return undefined;
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const property = own.find(([, { value }]) => value === handler)?.[0];
  return property === undefined ? methodOf(Reflect.getPrototypeOf(prototype), handler) : { owner: prototype, property };
}

/** A controller's class and first path, for policies whose state its routes share. */
export function controllerOf(controller: Type): string {
  return `${controller.name} ${joined(first(Reflect.getMetadata(PATH_METADATA, controller)))}`;
}

function first(path: unknown): string {
  const one: unknown = Array.isArray(path) ? path[0] : path;
  return typeof one === 'string' ? one : '';
}

function joined(...parts: string[]): string {
  const segments = parts.flatMap((part) => part.split('/')).filter((segment) => segment !== '');
  return `/${segments.join('/')}`;
}

function declared(value: string | RegExp | symbol | readonly unknown[] | undefined): string {
  if (Array.isArray(value)) return value.map((one) => (one === VERSION_NEUTRAL ? 'neutral' : declared(one))).join('+');
  if (value === VERSION_NEUTRAL) return '';
  return typeof value === 'string' ? value : (value?.toString() ?? '');
}

/**
 * Makes names unique: the second use of a name becomes `name #2`. So two controllers of one class name and path, or two handlers
 * of one route, never share a state.
 */
export class UniqueNames {
  private readonly counts = new Map<string, number>();
  private readonly given = new Set<string>();

  name(text: string): string {
    let name: string;
    do {
      const count = (this.counts.get(text) ?? 0) + 1;
      this.counts.set(text, count);
      name = count === 1 ? text : `${text} #${count}`;
      // A path may end in ` #2`, too.
    } while (this.given.has(name));
    this.given.add(name);
    return name;
  }
}
