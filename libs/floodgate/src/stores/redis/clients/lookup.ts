import dns, { type LookupAddress } from 'node:dns';

/** The options that net and tls pass to their `lookup` function. */
interface LookupOptions {
  readonly family?: number | 'IPv4' | 'IPv6' | undefined;
  readonly all?: boolean | undefined;
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address?: string | LookupAddress[],
  family?: number,
) => void;

/** The lookups under way, by family and name. A second request for the same name shares the answer. */
const underWay = new Map<string, Promise<LookupAddress[]>>();
/** The last lookup of the queue. */
let last: Promise<unknown> = Promise.resolve();

/**
 * The addresses of a host name, from the system's resolver. The process has one lookup at a time: `getaddrinfo` cannot be
 * cancelled, and a lookup that hangs holds one of the four threads that also read files.
 *
 * @param family 4, 6, or 0 for both
 * @throws the resolver's error, such as ENOTFOUND
 */
export function addressesOf(hostname: string, family = 0): Promise<LookupAddress[]> {
  const key = `${family} ${hostname}`;
  let answer = underWay.get(key);
  if (answer === undefined) {
    answer = last.then(() => lookUp(hostname, family));
    last = answer.then(
      () => underWay.delete(key),
      () => underWay.delete(key),
    );
    underWay.set(key, answer);
  }
  return answer;
}

/** `dns.lookup` through the queue of `addressesOf`, for connections that ioredis opens. */
export function queuedLookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  const family = typeof options.family === 'string' ? Number(options.family.slice(3)) : options.family;
  addressesOf(hostname, family).then(
    (addresses) => answerWith(addresses)(hostname, options, callback),
    (error: NodeJS.ErrnoException) => callback(error),
  );
}

/** A `lookup` function with a known answer. */
export function answerWith(
  addresses: LookupAddress[],
): (hostname: string, options: LookupOptions, callback: LookupCallback) => void {
  return (_, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, addresses);
    else callback(null, first!.address, first!.family);
  };
}

function lookUp(hostname: string, family: number): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    // net does this, too: without ADDRCONFIG, a machine without an IPv6 address still waits for AAAA records.
    const hints = family === 0 && process.platform !== 'win32' ? dns.ADDRCONFIG : 0;
    // A property of the module, as net uses it: applications replace dns.lookup.
    dns.lookup(hostname, { all: true, family, hints }, (error, addresses) => {
      if (error) reject(error);
      else if (addresses.length === 0) reject(new Error(`the resolver knows no address for ${hostname}`));
      else resolve(addresses);
    });
  });
}
