import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { bodyEnd } from './body-end.js';
import { type OutgoingOptions, readOutgoing } from './outgoing-options.js';

type FetchInput = Parameters<typeof fetch>[0];
type FetchInit = Parameters<typeof fetch>[1];

/** A request as `limitedFetch` passes it to `identity`: the arguments of `fetch`. */
export interface FetchRequest {
  readonly input: FetchInput;
  readonly init: FetchInit;
}

/** The options of `limitedFetch`. */
export interface LimitedFetchOptions extends OutgoingOptions<FetchRequest, Response> {
  /** Sends the requests; default the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

const WHERE = 'limitedFetch';

/**
 * Returns a `fetch` whose requests wait for their turn under the policies, as `RateLimiter.schedule` does. A concurrency holds its
 * place until the body of the answer is read, cancelled or garbage-collected. A 429, a 503 with
 * `Retry-After`, and an answer that says that nothing remains pause the policies for the identity in all processes.
 *
 * It sends each request once, and resolves to a 429 as `fetch` does. Give it to `rateLimitFetch` of `floodgate-client` for retries: each attempt then waits for its turn.
 *
 * @param limiter injected
 * @param policies as in `schedule`
 * @throws {RateLimitConfigError} for a wrong option. The `fetch` that it returns rejects as `schedule` does
 * @example const partner = limitedFetch(limiter, 'partner', { maxWait: '5s' });
 */
export function limitedFetch(
  limiter: Pick<RateLimiter, 'schedule' | 'pause'>,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options: LimitedFetchOptions = {},
): typeof fetch {
  const { fetch: given, ...rest } = options;
  if (given !== undefined && typeof given !== 'function') {
    throw new RateLimitConfigError(WHERE, `fetch must be a function, got ${shown(given)}`);
  }
  const { identityOf, schedule, ...pausing } = readOutgoing(limiter, rest, WHERE);
  const paused = { limiter, policies, ...pausing };
  // The global is read with each call: tests and tracing replace it.
  const send: typeof fetch = given ?? ((input, init) => globalThis.fetch(input, init));
  return async (input: FetchInput, init?: FetchInit): Promise<Response> => {
    const identity = identityOf({ input, init });
    // Null takes the signal off the request.
    const { signal = isRequest(input) ? input.signal : undefined } = init ?? {};
    const work = async (): Promise<Response> => {
      const response = await send(input, init);
      const { status, headers } = response;
      const { pauseFor } = await import('./pause-of-answer.js');
      pauseFor(paused, identity, status, (name) => headers.get(name) ?? undefined);
      return response;
    };
    // The policies count the request until its body has ended.
    const until = (response: Response | undefined): Promise<void> | undefined => bodyEnd(response?.body);
    return limiter.schedule(policies, identity, work, { ...schedule, until, ...(signal && { signal }) });
  };
}

/** Recognises a Request by its shape: a package with a `fetch` of its own has a class of its own. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && 'url' in input && 'signal' in input;
}
