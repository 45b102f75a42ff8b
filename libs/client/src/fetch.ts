import { RateLimitConfigError, shown } from '../../floodgate/src/util/config-error.js';
import { type Call, Governor } from './governor.js';
import { checkClientOptions, type ClientRequest, type RateLimitClientOptions } from './options.js';
import { peekBody } from './peek.js';
import { type FetchInit, type FetchInput, isRequest, replayOf } from './replay.js';

const WHERE = 'rateLimitFetch';

/** The options of `rateLimitFetch`. */
export interface RateLimitFetchOptions extends RateLimitClientOptions {
  /** Sends the requests; default the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

/**
 * Returns a `fetch` that waits where a server asks for it: after a 429, after a 503 with `Retry-After`, and once `RateLimit` or
 * `X-RateLimit-*` say that nothing remains. Parallel calls share what one of them learns, and leave in their order.
 *
 * A call resolves to the last response, a 429 included, when its attempts or its waiting time are used up. It rejects with a
 * `RateLimitWaitError` when it could not send its request at all within `maxWait`, and with the signal's reason when it is
 * aborted. A request whose body is a stream is sent once.
 *
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 * @example const limited = rateLimitFetch({ maxWait: '30s' });
 * const response = await limited('https://api.example.com/rides');
 * @see RFC 9110, section 10.2.3; draft-ietf-httpapi-ratelimit-headers-11
 */
export function rateLimitFetch(options: RateLimitFetchOptions = {}): typeof fetch {
  const governor = new Governor(checkClientOptions(options, WHERE, ['fetch']));
  const { fetch: given } = options;
  if (given !== undefined && typeof given !== 'function') {
    throw new RateLimitConfigError(WHERE, `fetch must be a function, got ${shown(given)}`);
  }
  // The global is read with each call: it may be replaced, as tests and tracing do. Browsers need its receiver.
  const send: typeof fetch = given ?? ((input, init) => globalThis.fetch(input, init));
  return async (input: FetchInput, init?: FetchInit): Promise<Response> => {
    const request = describe(input, init);
    // No limit is behind a data: or blob: address, and fetch itself rejects what is no address at all.
    if (request === undefined) return send(input, init);
    // Null takes the signal off the request.
    const { signal = isRequest(input) ? input.signal : undefined } = init ?? {};
    const call = governor.begin(request);
    const replay = replayOf(input, init);
    try {
      return await attempt(call);
    } finally {
      replay.end();
      call.end();
    }

    async function attempt(ongoing: Call): Promise<Response> {
      if (!(await ongoing.mayLeave(signal ?? undefined))) throw ongoing.lateError();
      for (;;) {
        const response = await answered(ongoing);
        const { status, headers } = response;
        const body = status === 429 ? await peekBody(response, governor.options.time) : undefined;
        const header = (name: string): string | undefined => headers.get(name) ?? undefined;
        if (!ongoing.answer({ status, header, body }) || !replay.repeatable) return response;
        // The caller gets this response if there is no turn in time.
        if (!(await orDiscard(response, ongoing.mayLeave(signal ?? undefined)))) return response;
        discard(response);
      }
    }

    async function answered(ongoing: Call): Promise<Response> {
      try {
        return await send(...replay.next(!replay.repeatable || ongoing.isLast));
      } catch (error) {
        ongoing.fail();
        throw error;
      }
    }
  };
}

function describe(input: FetchInput, init: FetchInit): ClientRequest | undefined {
  const request = isRequest(input) ? input : undefined;
  const text = typeof input === 'string' ? input : 'url' in input ? input.url : input.href;
  const base = (globalThis as { readonly location?: { readonly href?: string } }).location?.href;
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  let headers: Headers | undefined;
  return {
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url,
    header: (name) => {
      headers ??= new Headers(init?.headers ?? request?.headers);
      return headers.get(name) ?? undefined;
    },
  };
}

/** Discards a response when the wait after it fails: the caller never sees it. */
async function orDiscard<T>(response: Response, wait: Promise<T>): Promise<T> {
  try {
    return await wait;
  } catch (error) {
    discard(response);
    throw error;
  }
}

/** Frees the connection of a response that nobody reads. */
function discard({ body }: Response): void {
  body?.cancel().catch(() => undefined);
}
