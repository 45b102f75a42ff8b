import type { HttpAdapterHost } from '@nestjs/core';
import ipaddr from 'ipaddr.js';
import type { HttpRequest } from '../nest/http-context.js';

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
  const setting = settingOf(httpAdapter);
  if (setting === undefined) return undefined;
  const { platform, given } = setting;
  const believing =
    given === true
      ? 'true'
      : believesAnybody(given)
        ? 'a function that believes every address'
        : listsEverybody(given)
          ? 'a list that contains every address'
          : undefined;
  if (believing === undefined) return undefined;
  return (
    `trust proxy is ${believing}: req.ip is then the leftmost address of X-Forwarded-For, which every client can forge, and with it ` +
    `a fresh limit for each request. Right is ${RIGHT[platform]}`
  );
}

/** What a proxy tells the client's address by. Express and Fastify read the first of them only. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;

/**
 * Warns, once, of a request that a proxy seems to have forwarded while the platform trusts none: all clients of that proxy
 * then share its address, and one limit.
 */
export class ForwardedWatch {
  private watching = true;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly warn: (message: string) => void,
  ) {}

  /** Called with every limited request. */
  see({ headers }: HttpRequest): void {
    if (!this.watching) return;
    for (const name of FORWARDED) {
      if (headers[name] === undefined) continue;
      this.watching = false;
      this.found(name);
      return;
    }
  }

  private found(header: (typeof FORWARDED)[number]): void {
    const setting = settingOf(this.adapterHost.httpAdapter);
    if (setting === undefined || !isOff(setting.given)) return;
    const only = header === 'x-forwarded-for' ? '' : ', and have the proxy send X-Forwarded-For, which alone is read';
    this.warn(
      `A request came with the header ${header} while trust proxy is off. If a proxy of yours set it, all its clients share ` +
        `the proxy's address and one limit. Right is then ${RIGHT[setting.platform]}${only}. If no proxy stands in front, a ` +
        `client sent it, and it changes nothing`,
    );
  }
}

/** Fastify 5 takes no count of proxies. */
const RIGHT = {
  express: `how many proxies of yours stand in front, or their addresses: app.set('trust proxy', 1)`,
  fastify: `the addresses of your proxies: new FastifyAdapter({ trustProxy: 'loopback, 10.0.0.0/8' })`,
} as const;

/** The platform and its trust-proxy setting as it was given; undefined where there is no such setting. */
function settingOf(
  httpAdapter: HttpAdapterHost['httpAdapter'],
): { readonly platform: keyof typeof RIGHT; readonly given: unknown } | undefined {
  // An application context has no adapter.
  const platform: unknown = httpAdapter?.getType?.();
  if (platform !== 'express' && platform !== 'fastify') return undefined;
  const instance = httpAdapter.getInstance<Instance>();
  const given = platform === 'express' ? instance.get?.('trust proxy') : fastifyOptions(instance)?.trustProxy;
  return { platform, given };
}

function isOff(given: unknown): boolean {
  return !given || (Array.isArray(given) && given.length === 0);
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

/** Both platforms refuse the range 0.0.0.0/0, but take its two halves. */
function listsEverybody(setting: unknown): boolean {
  const given: unknown[] = typeof setting === 'string' ? setting.split(',') : Array.isArray(setting) ? setting : [];
  const ranges = given.map((range) => String(range).trim()).filter((range) => ipaddr.isValidCIDR(range));
  return NOBODYS.some((nobodys) => {
    const address = ipaddr.parse(nobodys);
    return ranges.some((range) => {
      const [network, bits] = ipaddr.parseCIDR(range);
      return network.kind() === address.kind() && address.match(network, bits);
    });
  });
}

/** Fastify keeps the options it was made with under a symbol; its public `initialConfig` leaves this one out. */
function fastifyOptions(instance: object): { readonly trustProxy?: unknown } | undefined {
  const key = Object.getOwnPropertySymbols(instance).find(({ description }) => description === 'fastify.options');
  return key === undefined ? undefined : (instance as Record<symbol, { readonly trustProxy?: unknown }>)[key];
}
