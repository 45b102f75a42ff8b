import { address } from './address.js';

/**
 * Whether a text is an address as requests are counted by it.
 *
 * @param escaped the value as tags contain it
 */
export function isCountedAddress(escaped: string): boolean {
  const value = escaped.replaceAll(/%([0-9A-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const [text = '', bits] = value.split('/');
  return value !== '' && address(text, Number(bits)) === value;
}
