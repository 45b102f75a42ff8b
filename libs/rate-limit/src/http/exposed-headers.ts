import type { IncomingHttpHeaders } from 'node:http';

const ALLOW_ORIGIN = 'access-control-allow-origin';
const ALLOW_CREDENTIALS = 'access-control-allow-credentials';
const EXPOSE = 'access-control-expose-headers';

/** The names that a response is to expose, while its `writeHead` is wrapped. */
const EXPOSED = Symbol('headers of the rate limit');

type Values = Record<string, unknown>;

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

/** `req` comes first: Express's responses have it themselves, while `raw` is looked for in vain in all their prototypes. */
function nodeResponseOf(response: unknown): RawResponse | undefined {
  const { req } = response as Partial<RawResponse>;
  return req === undefined ? (response as { readonly raw?: RawResponse }).raw : (response as RawResponse);
}

function exposedWhenWritten(raw: RawResponse): Set<string> {
  const names = new Set<string>();
  const { writeHead } = raw;
  raw.writeHead = (...args) => {
    raw.writeHead = writeHead;
    // Fastify keeps the headers itself, and hands them over here.
    const last = args.findIndex((arg) => typeof arg === 'object' && arg !== null && !Array.isArray(arg));
    const given = last === -1 ? {} : (args[last] as Values);
    const list = listWith(names, raw, given);
    if (list !== undefined) {
      const own = keyOf(given, EXPOSE);
      if (own === undefined) raw.setHeader(EXPOSE, list);
      else args[last] = { ...given, [own]: list };
    }
    return writeHead.apply(raw, args);
  };
  return names;
}

/** The response's list together with the names; undefined when it is to stay as it is. */
function listWith(names: Set<string>, raw: RawResponse, given: Values): string | undefined {
  const valueOf = (name: string): unknown => given[keyOf(given, name) ?? ''] ?? raw.getHeader(name);
  if (valueOf(ALLOW_ORIGIN) === undefined) return undefined;
  const own = [valueOf(EXPOSE) ?? []].flat().map(String).join(', ');
  const listed = own.split(',').map((name) => name.trim().toLowerCase());
  // With credentials a browser takes the asterisk for a name.
  if (listed.includes('*') && valueOf(ALLOW_CREDENTIALS) === undefined) return undefined;
  const missing = [...names].filter((name) => !listed.includes(name.toLowerCase()));
  if (missing.length === 0) return undefined;
  return own === '' ? missing.join(', ') : `${own}, ${missing.join(', ')}`;
}

function keyOf(values: Values, name: string): string | undefined {
  return Object.keys(values).find((key) => key.toLowerCase() === name);
}
