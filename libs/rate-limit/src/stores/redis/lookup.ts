import dns, { type LookupAddress } from 'node:dns';

/** What net and tls ask their `lookup` option for. */
interface LookupQuestion {
  readonly family?: number | 'IPv4' | 'IPv6' | undefined;
  readonly hints?: number | undefined;
  readonly all?: boolean | undefined;
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address?: string | LookupAddress[],
  family?: number,
) => void;

/** By name and family: who asks for a name that is being looked up waits for that answer. */
const pending = new Map<string, Promise<LookupAddress[]>>();
/** The end of the queue. */
let last: Promise<unknown> = Promise.resolve();

/**
 * The addresses of a host name, by the system's resolver. One lookup at a time for the whole process: `getaddrinfo` cannot be
 * cancelled, and each one that hangs holds one of the four threads that also read files.
 *
 * @param family 4, 6, or 0 for both
 * @throws what the resolver fails with, such as ENOTFOUND
 */
export function addressesOf(hostname: string, family = 0): Promise<LookupAddress[]> {
  const key = `${family} ${hostname}`;
  let answer = pending.get(key);
  if (answer === undefined) {
    answer = last.then(() => lookUp(hostname, family));
    last = answer.then(
      () => pending.delete(key),
      () => pending.delete(key),
    );
    pending.set(key, answer);
  }
  return answer;
}

/** `dns.lookup` by way of `addressesOf`, for the `lookup` option of a connection that somebody else opens. */
export function queuedLookup(hostname: string, question: LookupQuestion, callback: LookupCallback): void {
  const family = typeof question.family === 'string' ? Number(question.family.slice(3)) : question.family;
  addressesOf(hostname, family).then(
    (addresses) => answerWith(addresses)(hostname, question, callback),
    (error: NodeJS.ErrnoException) => callback(error),
  );
}

/** A `lookup` option that knows the answer. */
export function answerWith(
  addresses: LookupAddress[],
): (hostname: string, question: LookupQuestion, callback: LookupCallback) => void {
  return (_, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, addresses);
    else callback(null, first!.address, first!.family);
  };
}

function lookUp(hostname: string, family: number): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    // As net asks: without ADDRCONFIG a machine that has no IPv6 address waits for AAAA records all the same.
    const hints = family === 0 && process.platform !== 'win32' ? dns.ADDRCONFIG : 0;
    // By way of the module's object: applications replace dns.lookup, and net asks it in the same way.
    dns.lookup(hostname, { all: true, family, hints }, (error, addresses) => {
      if (error) reject(error);
      else if (addresses.length === 0) reject(new Error(`no address is known for ${hostname}`));
      else resolve(addresses);
    });
  });
}
