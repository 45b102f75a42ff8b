import { Injectable, RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type Decision, type Identity, RateLimiter } from 'nestjs-floodgate';

/** A handler of an HTTP route. */
export interface Route {
  /** Such as `GET`. */
  readonly method: string;
  /** Such as `/api/trips/history`. */
  readonly path: string;
  readonly controller: Type;
  /** The name of the handler method. */
  readonly handler: string;
}

/** The HTTP routes of the application, and the limiter's view of them. */
@Injectable()
export class Routes {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly limiter: RateLimiter,
  ) {}

  /** All routes, in order of their paths. */
  all(): Route[] {
    const routes = this.discovery.getControllers().flatMap(({ metatype }) => {
      if (typeof metatype !== 'function') return [];
      const controller = metatype as Type;
      const prototype = controller.prototype as Readonly<Record<string, object>>;
      const base = Reflect.getMetadata(PATH_METADATA, controller) as string;
      return this.scanner.getAllMethodNames(prototype).flatMap((handler) => {
        const method = Reflect.getMetadata(METHOD_METADATA, prototype[handler]!) as RequestMethod | undefined;
        if (method === undefined) return [];
        const own = Reflect.getMetadata(PATH_METADATA, prototype[handler]!) as string;
        return [{ method: RequestMethod[method], path: joined(base, own), controller, handler }];
      });
    });
    return routes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** @throws Error for a route that the application does not have */
  find(method: string, path: string): Route {
    const found = this.all().find((route) => route.method === method && route.path === path);
    if (found === undefined) throw new Error(`no controller has the route ${method} ${path}`);
    return found;
  }

  /** The decision for a request of cost 1, without a charge; a route without limits has no policies in it. */
  peek({ controller, handler }: Route, identity: Identity): Promise<Decision> {
    return this.limiter.peek([controller, handler], identity);
  }
}

/** Joins two paths with one slash between them, and one in front. */
function joined(base: string, own: string): string {
  return `/${[...base.split('/'), ...own.split('/')].filter((segment) => segment !== '').join('/')}`;
}
