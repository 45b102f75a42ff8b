import { parseList } from 'structured-headers';

/** The parameters of one item of `RateLimit-Policy` or `RateLimit`, by name. Byte sequences are base64. */
export type ItemParameters = Readonly<Record<string, string | number | boolean>>;

/** Reads a list of RFC 9651 whose items are strings: each name with its parameters, in order. Throws for anything else. */
export function readList(field: string): [name: string, parameters: ItemParameters][] {
  return parseList(field).map(([value, parameters]) => {
    if (typeof value !== 'string') throw new TypeError(`an item must be a string, got ${JSON.stringify(value)}`);
    const read = [...parameters].map(([key, one]): [string, string | number | boolean] => {
      if (one instanceof ArrayBuffer) return [key, Buffer.from(one).toString('base64')];
      if (typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean') return [key, one];
      throw new TypeError(`${key} is neither a string, an integer, a Boolean nor bytes`);
    });
    return [value, Object.fromEntries(read)];
  });
}
