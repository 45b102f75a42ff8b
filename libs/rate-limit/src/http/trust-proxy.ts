import type { HttpAdapterHost } from '@nestjs/core';

/** What Express and Fastify have in common here is nothing; both keep the setting as it was given. */
interface Instance {
  /** Express. */
  get?(setting: string): unknown;
}

/**
 * What an operator should know of the platform's trust-proxy setting, or undefined when it is fine. With `true` the address
 * is the first one in X-Forwarded-For, which the client itself may have written: a new one for each request. So it is with a
 * function that believes an address of which nobody is a proxy.
 */
export function trustProxyWarning({ httpAdapter }: HttpAdapterHost): string | undefined {
  // An application context has no adapter.
  const platform: unknown = httpAdapter?.getType?.();
  if (platform !== 'express' && platform !== 'fastify') return undefined;
  const instance = httpAdapter.getInstance<Instance>();
  const given = platform === 'express' ? instance.get?.('trust proxy') : fastifyOptions(instance)?.trustProxy;
  if (given !== true && !believesAnybody(given)) return undefined;
  // Fastify 5 takes no count of proxies.
  const right =
    platform === 'express'
      ? `how many proxies of yours stand in front, or their addresses: app.set('trust proxy', 1)`
      : `the addresses of your proxies: new FastifyAdapter({ trustProxy: 'loopback, 10.0.0.0/8' })`;
  return (
    `trust proxy is ${given === true ? 'true' : 'a function that believes every address'}: req.ip is then the leftmost address of X-Forwarded-For, which every client can forge, and with it ` +
    `a fresh limit for each request. Right is ${right}`
  );
}

/** Reserved for documentation, further away than any proxy. */
const NOBODYS = ['203.0.113.9', '2001:db8::9'];
const FAR = 100;

function believesAnybody(setting: unknown): boolean {
  if (typeof setting !== 'function') return false;
  try {
    // What is not false is believed: a promise, too.
    return NOBODYS.some((address) => Boolean(setting(address, FAR)));
  } catch {
    return false;
  }
}

/** Fastify keeps the options it was made with under a symbol; its public `initialConfig` leaves this one out. */
function fastifyOptions(instance: object): { readonly trustProxy?: unknown } | undefined {
  const key = Object.getOwnPropertySymbols(instance).find(({ description }) => description === 'fastify.options');
  return key === undefined ? undefined : (instance as Record<symbol, { readonly trustProxy?: unknown }>)[key];
}
