import { shown } from '../util/config-error.js';
import { address } from './address.js';

/** The bits that an example shows: the default of `ipIdentity`. */
const EXAMPLE_BITS = 56;

/**
 * Says what would be right in the place of a value that no identity of the kind `ip` has, for a message.
 *
 * @param escaped the value as tags contain it
 * @returns undefined for an address as requests are counted by it
 */
export function rightAddress(escaped: string): string | undefined {
  const value = escaped.replaceAll(/%([0-9A-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const [text = '', bits] = value.split('/');
  if (value !== '' && address(text, Number(bits ?? EXAMPLE_BITS)) === value) return undefined;
  const counted = address(text, EXAMPLE_BITS);
  return counted === undefined
    ? `an address as 203.0.113.9, or a prefix as 2001:db8::/56, got ${shown(value)}`
    : `the address or prefix that is counted, such as ${shown(counted)}, got ${shown(value)}`;
}
