import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpServer, TrustProxySetting, TrustsHop } from 'floodgate/internal';
import { expressTrustProxy, fastifyTrustProxy, trustsHop } from 'floodgate/internal-boot';

/** The application's HTTP server; undefined in an application context, which has no adapter. */
export function serverOf({ httpAdapter }: HttpAdapterHost): HttpServer | undefined {
  return httpAdapter?.getHttpServer?.() as HttpServer | undefined;
}

/** The platform's trust-proxy setting as the application gave it; undefined where there is none. */
export function trustProxyOf({ httpAdapter }: HttpAdapterHost): TrustProxySetting | undefined {
  // An application context has no adapter.
  const platform: unknown = httpAdapter?.getType?.();
  if (platform === 'express') return expressTrustProxy(httpAdapter.getInstance());
  return platform === 'fastify' ? fastifyTrustProxy(httpAdapter.getInstance()) : undefined;
}

/** Which hops the platform trusts; none where there is no platform. */
export function trustsHopOf(host: HttpAdapterHost): TrustsHop {
  const setting = trustProxyOf(host);
  if (setting?.platform === 'fastify') return trustsHop(setting.isIgnored === true ? false : setting.given);
  if (setting === undefined) return trustsHop(false);
  // Express compiles its setting to a function.
  return trustsHop(host.httpAdapter.getInstance<{ get(name: string): unknown }>().get('trust proxy fn'));
}

interface WithRouter {
  readonly router?: { readonly stack?: readonly { readonly name?: string }[] };
}

interface WithHooks {
  addHook(name: 'onReady', hook: () => Promise<void>): unknown;
  hasRequestDecorator(name: string): boolean;
}

/**
 * Calls `found` at boot if the platform has a middleware or plugin of CORS. On Express, the middleware's name reveals it.
 * Fastify loads the plugin after Nest has started its modules, and then has the plugin's decorator.
 */
export function findCors({ httpAdapter }: HttpAdapterHost, found: () => void): void {
  const platform: unknown = httpAdapter?.getType?.();
  if (platform === 'express') {
    const { router } = httpAdapter.getInstance<WithRouter>();
    if (router?.stack?.some(({ name }) => name === 'corsMiddleware') === true) found();
  } else if (platform === 'fastify') {
    const instance = httpAdapter.getInstance<WithHooks>();
    instance.addHook('onReady', async () => {
      if (instance.hasRequestDecorator('corsPreflightEnabled')) found();
    });
  }
}
