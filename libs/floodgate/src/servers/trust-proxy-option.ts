import ipaddr from 'ipaddr.js';
import { clientAddress, type ForwardedRequest, trustsHop } from '../http/client-address.js';
import { type OptionRule, readOption } from '../util/option-rules.js';

/** The proxies that stand in front: how many, or their addresses and CIDR ranges. */
export type TrustProxy = number | readonly string[];

const RULE: OptionRule = {
  default: undefined,
  valid: (value) =>
    (Number.isSafeInteger(value) && (value as number) >= 0) || (Array.isArray(value) && value.every(isRange)),
  wanted: 'how many proxies of yours stand in front, or their addresses and CIDR ranges in an array',
};

/**
 * Finds the address of the client that the trusted proxies name.
 *
 * @throws {RateLimitConfigError} for anything but a number of proxies, or their addresses
 */
export function addressBehind(
  given: { readonly trustProxy?: TrustProxy | undefined },
  where: string,
): (request: ForwardedRequest) => string | undefined {
  const trustProxy = readOption(given, 'trustProxy', RULE, where);
  const trusts = trustsHop(trustProxy ?? 0);
  return (request) => clientAddress(request, trusts);
}

function isRange(value: unknown): boolean {
  return typeof value === 'string' && (ipaddr.isValid(value) || ipaddr.isValidCIDR(value));
}
