import type { IncomingHttpHeaders } from 'node:http';

const ALLOW_ORIGIN = 'access-control-allow-origin';
const ALLOW_CREDENTIALS = 'access-control-allow-credentials';
const EXPOSE = 'access-control-expose-headers';

/** The names that a response is to expose, while its `writeHead` is wrapped. */
const EXPOSED = Symbol('headers of the rate limit');

type Entry = readonly [name: string, value: unknown];

/** What this file uses of Node's response, of HTTP/1 or HTTP/2. */
interface RawResponse {
  readonly req?: { readonly headers?: IncomingHttpHeaders };
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead: (...args: unknown[]) => unknown;
  [EXPOSED]?: Set<string>;
}

/**
 * Lets scripts of other origins read headers of a response that allows their origin: their names are appended to
 * `Access-Control-Expose-Headers` (Fetch standard, "CORS-safelisted response-header name"). The application's own list stays.
 *
 * It happens when the response is written. Only then it is known whether the response allows an origin: the module's `middleware`
 * comes before CORS, whose handler would also replace an earlier list. Requests without an `Origin` cost nothing.
 *
 * @param response the platform's response
 */
export function exposeHeaders(response: unknown, headers: readonly (readonly [name: string, value: string])[]): void {
  const raw = nodeResponseOf(response);
  if (raw?.req?.headers?.origin === undefined || typeof raw.writeHead !== 'function') return;
  raw[EXPOSED] ??= exposedWhenWritten(raw);
  for (const [name] of headers) raw[EXPOSED].add(name);
}

/** Reads `req` first: an Express response has it, and the search for `raw` would walk all prototypes of the response. */
function nodeResponseOf(response: unknown): RawResponse | undefined {
  const { req } = response as Partial<RawResponse>;
  return req === undefined ? (response as { readonly raw?: RawResponse }).raw : (response as RawResponse);
}

function exposedWhenWritten(raw: RawResponse): Set<string> {
  const names = new Set<string>();
  const { writeHead } = raw;
  raw.writeHead = (...args) => {
    raw.writeHead = writeHead;
    // Fastify keeps the headers itself, and hands them over here. A message may stand before them.
    const last = args.findIndex((arg) => typeof arg === 'object' && arg !== null);
    const given = last === -1 ? [] : entriesOf(args[last] as object);
    // Node refuses an array that is no list of names and values.
    if (given === undefined) return writeHead.apply(raw, args);
    const list = listWith(names, raw, given);
    if (list !== undefined) {
      if (valuesOf(given, EXPOSE).length === 0) raw.setHeader(EXPOSE, list);
      else args[last] = withList(args[last] as object, given, list);
    }
    return writeHead.apply(raw, args);
  };
  return names;
}

/** The response's list together with the names; undefined when it is to stay as it is. */
function listWith(names: Set<string>, raw: RawResponse, given: readonly Entry[]): string | undefined {
  const valueOf = (name: string): readonly unknown[] => {
    const values = valuesOf(given, name);
    return values.length > 0 ? values : [raw.getHeader(name) ?? []].flat();
  };
  if (valueOf(ALLOW_ORIGIN).length === 0) return undefined;
  const own = valueOf(EXPOSE).map(String).join(', ');
  const listed = own.split(',').map((name) => name.trim().toLowerCase());
  // With credentials a browser takes the asterisk for a name.
  if (listed.includes('*') && valueOf(ALLOW_CREDENTIALS).length === 0) return undefined;
  const missing = [...names].filter((name) => !listed.includes(name.toLowerCase()));
  if (missing.length === 0) return undefined;
  return own === '' ? missing.join(', ') : `${own}, ${missing.join(', ')}`;
}

/** The headers of an object, of `[name, value, name, value]` or of `[[name, value], [name, value]]`; undefined of another array. */
function entriesOf(given: object): readonly Entry[] | undefined {
  if (!Array.isArray(given)) return Object.entries(given);
  if (Array.isArray(given[0])) return given as Entry[];
  if (given.length % 2 !== 0) return undefined;
  return Array.from({ length: given.length / 2 }, (_, i): Entry => [String(given[i * 2]), given[i * 2 + 1]]);
}

/** All values of a header: an array may have it several times. */
function valuesOf(entries: readonly Entry[], name: string): readonly unknown[] {
  return entries.filter((entry) => isNamed(entry, name)).flatMap(([, value]) => value ?? []);
}

/** The headers with one list of exposed names, in the form in which they were given. */
function withList(given: object, entries: readonly Entry[], list: string): object {
  const others = entries.filter((entry) => !isNamed(entry, EXPOSE));
  const [name] = entries.find((entry) => isNamed(entry, EXPOSE))!;
  const all: readonly Entry[] = [...others, [name, list]];
  if (!Array.isArray(given)) return Object.fromEntries(all);
  return Array.isArray(given[0]) ? [...all] : all.flat();
}

function isNamed([name]: Entry, wanted: string): boolean {
  return name.toLowerCase() === wanted;
}
