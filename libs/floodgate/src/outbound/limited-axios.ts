import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import { type AdaptedAxios, aroundSending, withAbort } from '../util/responses/axios-adapter.js';
import { axiosHeaders } from '../util/responses/axios-headers.js';
import { bodyEnd } from './body-end.js';
import { type OutgoingOptions, readOutgoing } from './outgoing-options.js';

/** What `limitedAxios` needs of a request's configuration. */
export interface OutgoingAxiosConfig {
  readonly url?: string | undefined;
  readonly method?: string | undefined;
  readonly signal?: unknown;
  readonly cancelToken?: unknown;
  adapter?: unknown;
}

/** What `limitedAxios` needs of a response. */
export interface OutgoingAxiosResponse {
  readonly status: number;
  readonly headers: unknown;
  readonly data?: unknown;
  config: unknown;
}

/** An instance of axios, by its shape: axios is no dependency. */
export type OutgoingAxios<Config extends OutgoingAxiosConfig> = AdaptedAxios<Config>;

/**
 * Lets the requests of an axios instance wait for their turn under the policies, as `limitedFetch` does. Give it the `axiosRef` of
 * Nest's `HttpService`. A request that gets no turn rejects with the error of `RateLimiter.schedule`; one that is aborted with
 * axios's own.
 *
 * @param limiter injected
 * @param policies as in `schedule`
 * @returns removes the interceptor
 * @throws {RateLimitConfigError} for a wrong option
 * @example limitedAxios(limiter, 'payments', httpService.axiosRef, { maxWait: '5s' });
 */
export function limitedAxios<Config extends OutgoingAxiosConfig>(
  limiter: Pick<RateLimiter, 'schedule' | 'pause'>,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  instance: OutgoingAxios<Config>,
  options: OutgoingOptions<OutgoingAxiosConfig, OutgoingAxiosResponse> = {},
): () => void {
  const { identityOf, schedule, ...pausing } = readOutgoing(limiter, options, 'limitedAxios');
  const paused = { limiter, policies, ...pausing };
  // The policies count the request until its body has ended, which may be a stream.
  const until = (response: OutgoingAxiosResponse | undefined, error: unknown): Promise<void> | undefined =>
    bodyEnd((response ?? responseOf(error))?.data);

  return aroundSending<Config, OutgoingAxiosResponse>(instance, async (config, send) => {
    const identity = identityOf(config);
    const pauseAfter = async (response: OutgoingAxiosResponse | undefined): Promise<void> => {
      if (response === undefined) return;
      const { pauseFor } = await import('./pause-of-answer.js');
      pauseFor(paused, identity, response.status, axiosHeaders(response.headers));
    };
    const work = async (): Promise<OutgoingAxiosResponse> => {
      try {
        const response = await send();
        await pauseAfter(response);
        return response;
      } catch (error) {
        await pauseAfter(responseOf(error));
        throw error;
      }
    };
    return withAbort(config, (signal) =>
      limiter.schedule(policies, identity, work, { ...schedule, until, ...(signal && { signal }) }),
    );
  });
}

function responseOf(error: unknown): OutgoingAxiosResponse | undefined {
  return (error as { response?: OutgoingAxiosResponse } | undefined)?.response;
}
