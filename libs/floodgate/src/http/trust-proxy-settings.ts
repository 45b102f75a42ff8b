import type { TrustProxySetting } from './trust-proxy.js';

/** The setting of an application of Express as it was given; undefined for what is none. */
export function expressTrustProxy(app: unknown): TrustProxySetting | undefined {
  const { get } = (app ?? {}) as { readonly get?: unknown };
  if (typeof get !== 'function') return undefined;
  return { platform: 'express', given: (app as { get(setting: string): unknown }).get('trust proxy') };
}

/** The setting of Fastify, as the root of this instance was made with it; undefined for what is none. */
export function fastifyTrustProxy(instance: unknown): TrustProxySetting | undefined {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const options = underSymbol(instance, 'fastify.options') as { readonly trustProxy?: unknown } | undefined;
  const given = options?.trustProxy;
  const isIgnored = typeof given === 'number' && given > 0 && !believesForwarded(instance);
  return { platform: 'fastify', given, isIgnored };
}

/** Whether requests of this Fastify have the address that their first proxy names. Newer versions of Fastify 5 ignore a number. */
function believesForwarded(instance: object): boolean {
  const [proxy, client] = ['203.0.113.1', '203.0.113.2'];
  const raw = { headers: { 'x-forwarded-for': client }, socket: { remoteAddress: proxy } };
  const request = underSymbol(instance, 'fastify.Request') as { readonly prototype: object } | undefined;
  try {
    return request !== undefined && Object.create(request.prototype, { raw: { value: raw } }).ip === client;
  } catch {
    return true; // another Fastify than those that are known: its setting is taken at its word
  }
}

/**
 * Fastify keeps under symbols what it was made with; its public `initialConfig` leaves `trustProxy` out. The instance of a plugin has
 * that of the application for its prototype.
 */
function underSymbol(instance: object, name: string): unknown {
  for (let one: object | null = instance; one !== null; one = Object.getPrototypeOf(one) as object | null) {
    const key = Object.getOwnPropertySymbols(one).find(({ description }) => description === name);
    if (key !== undefined) return (one as Record<symbol, unknown>)[key];
  }
  return undefined;
}
