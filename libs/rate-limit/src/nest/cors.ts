import type { IncomingHttpHeaders } from 'node:http';
import type { HttpAdapterHost } from '@nestjs/core';
import type { UserFunctions } from '../engine/functions/user-functions.js';

type Adapter = HttpAdapterHost['httpAdapter'];
type Done = (error?: unknown) => void;
type Handler = (request: object, response: object, done: Done) => unknown;

/** What this file uses of an adapter, beside its public methods. */
interface CorsAdapter {
  enableCors: (...args: unknown[]) => unknown;
  use: (...args: unknown[]) => unknown;
  register?: (plugin: unknown, ...rest: unknown[]) => unknown;
  /** Nest 12 over Fastify: the hook of `enableCors`. */
  readonly corsHook?: Handler;
}

/** A plugin of Fastify, or the module that has it as its default export. */
type Plugin = (instance: object, options: unknown, done: (error?: Error | null) => void) => unknown;
type PluginSource = Plugin | PromiseLike<{ readonly default: Plugin }>;

/**
 * The CORS that the application switches on with `enableCors`. The module's `middleware` runs before it, so a rejection would not
 * reach it, and a browser would show its page a network error in the place of the 429.
 */
export class ApplicationCors {
  private handler: Handler | undefined;

  /** @param functions the options of CORS may hold a function, which must answer within the deadline */
  constructor(private readonly functions: Pick<UserFunctions, 'within'>) {}

  /** Notes the handler of a later `enableCors`. */
  watch(adapter: Adapter): void {
    const watched = adapter as unknown as CorsAdapter;
    const { enableCors } = watched;
    watched.enableCors = (...args) => {
      const { use, register } = watched;
      watched.use = (...handlers) => {
        this.handler = handlers.at(-1) as Handler;
        return use.apply(watched, handlers);
      };
      // Nest 11 registers the plugin as it is.
      if (register !== undefined && !('corsHook' in watched)) {
        watched.register = (plugin, ...rest) =>
          register.call(watched, this.notingHook(plugin as PluginSource), ...rest);
      }
      try {
        return enableCors.apply(watched, args);
      } finally {
        watched.use = use;
        if (register !== undefined) watched.register = register;
        if ('corsHook' in watched) {
          this.handler = (request, response, done) =>
            watched.corsHook === undefined ? done() : watched.corsHook(request, response, done);
        }
      }
    };
  }

  /**
   * Sets the headers of CORS on a response that a later step rejects, then calls `done`. A preflight is left out: CORS would
   * answer it, and the rejection would be lost.
   */
  answer(request: object, response: object, done: () => void): void {
    const { handler } = this;
    if (handler === undefined || !needsCors(request)) return done();
    const { writable, close } = closable(response);
    const handled = new Promise<void>((resolve) => {
      handler(request, writable, () => resolve());
    });
    // Whatever becomes of CORS, the request is rejected.
    const reject = (): void => {
      close();
      done();
    };
    this.functions.within(handled).then(reject, reject);
  }

  /** Fastify's plugin of CORS, which adds its hook as ever. */
  private notingHook(source: PluginSource): object {
    const noting = async (instance: object, options: unknown): Promise<void> => {
      const plugin = typeof source === 'function' ? source : (await source).default;
      const noted = new Proxy(instance, {
        get: (target, property) => {
          const value: unknown = Reflect.get(target, property, target);
          if (property !== 'addHook') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          return (name: string, hook: Handler) => {
            if (name === 'onRequest') this.handler = hook;
            return (value as (name: string, hook: Handler) => unknown).call(target, name, hook);
          };
        },
      });
      await new Promise<void>((resolve, reject) => {
        plugin(noted, options, (error) => (error ? reject(error) : resolve()));
      });
    };
    // As fastify-plugin does: the hook is for all routes.
    return Object.assign(noting, { [Symbol.for('skip-override')]: true });
  }
}

/**
 * A response that ignores calls once it is closed. An `origin` function that calls back after the deadline would set headers
 * that are sent, and the error that Node throws there would end the process.
 */
function closable(response: object): { readonly writable: object; readonly close: () => void } {
  let closed = false;
  const writable: object = new Proxy(response, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (!closed) return (value as (...args: unknown[]) => unknown).apply(target, args);
        return String(property).startsWith('get') ? undefined : writable;
      };
    },
  });
  return {
    writable,
    close: () => {
      closed = true;
    },
  };
}

function needsCors(request: object): boolean {
  const { method, headers } = request as { readonly method?: string; readonly headers: IncomingHttpHeaders };
  if (headers.origin === undefined) return false;
  return method !== 'OPTIONS' || headers['access-control-request-method'] === undefined;
}
