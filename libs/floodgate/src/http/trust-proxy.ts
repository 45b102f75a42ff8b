import ipaddr from 'ipaddr.js';
import { shown } from '../util/config-error.js';
import { withHelp } from '../util/error-codes.js';
import type { HttpRequest } from './request.js';

/** The trust-proxy setting of a platform. */
export interface TrustProxySetting {
  readonly platform: keyof typeof RIGHT_SETTING;
  /** The value as the application gave it. */
  readonly given: unknown;
  /** Whether the platform trusts no proxy all the same. Default false. */
  readonly isIgnored?: boolean;
}

/** The advice for servers without a setting of their own. */
const OPTION = 'how many proxies of yours stand in front, or their addresses: { trustProxy: 1 }';

/** The right setting in the words of each platform. Newer versions of Fastify 5 ignore a number of proxies. */
export const RIGHT_SETTING = {
  express: `how many proxies of yours stand in front, or their addresses: app.set('trust proxy', 1)`,
  fastify: `the addresses of your proxies: trustProxy: 'loopback, 10.0.0.0/8', given to fastify() or new FastifyAdapter()`,
  hono: OPTION,
  http: OPTION,
} as const;

/**
 * A warning for a setting that trusts every address, or that the platform ignores; or undefined. If every address is trusted, the
 * client's address is the first one in X-Forwarded-For, which the client itself may have written: a new address for each request.
 *
 * @param setting undefined when the platform has none
 */
export function trustProxyWarning(setting: TrustProxySetting | undefined): string | undefined {
  if (setting === undefined) return undefined;
  const { platform, given, isIgnored } = setting;
  if (isIgnored === true) {
    return withHelp(
      `trust proxy is ${shown(given)}, which this version of ${platform} ignores: it trusts no proxy, so all clients behind one share its ` +
        `address and one limit. Right is ${RIGHT_SETTING[platform]}`,
      'FG_TRUST_PROXY',
    );
  }
  const trusting =
    given === true
      ? 'true'
      : trustsEveryAddress(given)
        ? 'a function that trusts every address'
        : listsEveryAddress(given)
          ? 'a list that contains every address'
          : undefined;
  if (trusting === undefined) return undefined;
  return withHelp(
    `trust proxy is ${trusting}: the client's address is then the leftmost one of X-Forwarded-For, which every client can forge, and ` +
      `with it a fresh limit for each request. Right is ${RIGHT_SETTING[platform]}`,
    'FG_TRUST_PROXY',
  );
}

/** The headers in which proxies pass on the client's address. Express and Fastify read only the first. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;

/**
 * Warns once when a proxy seems to have forwarded a request while the platform trusts no proxy: all clients of that proxy then
 * share its address, and one limit.
 */
export class ForwardedWatch {
  /** Whether `see` has to look at requests: until it has warned, or has found nothing to warn of. */
  isWatching = true;

  /** @param setting reads the setting when the first header appears: an application may set it late */
  constructor(
    private readonly setting: (request: HttpRequest) => TrustProxySetting | undefined,
    private readonly warn: (message: string) => void,
  ) {}

  /** Looks at the headers of a limited request. */
  see(request: HttpRequest): void {
    const { headers } = request;
    // Written out: a loop over the names costs every request twice as much.
    if (
      headers['x-forwarded-for'] === undefined &&
      headers['forwarded'] === undefined &&
      headers['x-real-ip'] === undefined
    ) {
      return;
    }
    this.isWatching = false;
    this.found(
      FORWARDED.find((name) => headers[name] !== undefined)!,
      request,
    );
  }

  private found(header: (typeof FORWARDED)[number], request: HttpRequest): void {
    const setting = this.setting(request);
    if (setting === undefined || !isOff(setting.given)) return;
    const only = header === 'x-forwarded-for' ? '' : ', and have the proxy send X-Forwarded-For, which alone is read';
    this.warn(
      withHelp(
        `A request came with the header ${header} while trust proxy is off. If a proxy of yours set it, all its clients share ` +
          `the proxy's address and one limit. Right is then ${RIGHT_SETTING[setting.platform]}${only}. If no proxy stands in front, a ` +
          `client sent it, and it changes nothing`,
        'FG_FORWARDED_HEADER',
      ),
    );
  }
}

function isOff(given: unknown): boolean {
  return !given || (Array.isArray(given) && given.length === 0);
}

/** Addresses for documentation (RFC 5737 and RFC 3849), at which no proxy stands. */
const UNUSED = ['203.0.113.9', '2001:db8::9'];
/** A hop further away than any proxy. */
const FAR = 100;

function trustsEveryAddress(setting: unknown): boolean {
  if (typeof setting !== 'function') return false;
  try {
    // The platforms trust every value that is truthy, even a promise.
    return UNUSED.some((address) => Boolean(setting(address, FAR)));
  } catch {
    return false;
  }
}

/** Both platforms reject the range 0.0.0.0/0 but take its two halves. */
function listsEveryAddress(setting: unknown): boolean {
  const given: unknown[] = typeof setting === 'string' ? setting.split(',') : Array.isArray(setting) ? setting : [];
  const ranges = given.map((range) => String(range).trim()).filter((range) => ipaddr.isValidCIDR(range));
  return UNUSED.some((unused) => {
    const address = ipaddr.parse(unused);
    return ranges.some((range) => {
      const [network, bits] = ipaddr.parseCIDR(range);
      return network.kind() === address.kind() && address.match(network, bits);
    });
  });
}
