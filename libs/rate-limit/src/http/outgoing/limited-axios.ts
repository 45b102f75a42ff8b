import type { LimiterPolicy } from '../../engine/calls/call-policies.js';
import type { RateLimiter } from '../../engine/calls/rate-limiter.js';
import { axiosHeaders } from '../../util/responses/axios-headers.js';
import { type OutgoingOptions, readOutgoing } from './outgoing-options.js';
import { pauseFor } from './pause-of-answer.js';

/** What `limitedAxios` needs of a request's configuration. */
export interface OutgoingAxiosConfig {
  readonly url?: string | undefined;
  readonly method?: string | undefined;
  readonly signal?: unknown;
  adapter?: unknown;
}

/** What `limitedAxios` needs of a response. */
export interface OutgoingAxiosResponse {
  readonly status: number;
  readonly headers: unknown;
  config: unknown;
}

/** An instance of axios, by its shape: axios is no dependency. */
export interface OutgoingAxios<Config extends OutgoingAxiosConfig> {
  readonly interceptors: {
    readonly request: {
      use(fulfilled: (config: Config) => Config | Promise<Config>, rejected?: (error: unknown) => unknown): number;
      eject(id: number): void;
    };
  };
  /** Makes an instance without the interceptors. */
  create(defaults?: object): { readonly defaults: { headers: unknown }; request(config: object): Promise<unknown> };
}

type Adapter = (config: OutgoingAxiosConfig) => Promise<OutgoingAxiosResponse>;
const asItIs = [(data: unknown): unknown => data];

/**
 * Lets the requests of an axios instance wait for their turn under the policies, as `limitedFetch` does. Give it the `axiosRef` of
 * Nest's `HttpService`. A request that gets no turn rejects with the error of `RateLimiter.schedule`; one that is aborted with
 * axios's own.
 *
 * @param limiter injected
 * @param policies as in `schedule`
 * @returns removes the interceptor
 * @throws {RateLimitConfigError} for a wrong option
 * @example limitedAxios(limiter, 'payments', httpService.axiosRef, { maxWaitMs: 5_000 });
 */
export function limitedAxios<Config extends OutgoingAxiosConfig>(
  limiter: Pick<RateLimiter, 'schedule' | 'pause'>,
  policies: LimiterPolicy | readonly LimiterPolicy[],
  instance: OutgoingAxios<Config>,
  options: OutgoingOptions<OutgoingAxiosConfig, OutgoingAxiosResponse> = {},
): () => void {
  const { identityOf, schedule, ...pausing } = readOutgoing(options, 'limitedAxios');
  const paused = { limiter, policies, ...pausing };
  /** The adapters that were there before, by those that wait: a retry of the application sends a configuration again. */
  const before = new WeakMap<object, unknown>();
  const bare = instance.create();
  // The configuration has them all, without those that interceptors have removed.
  bare.defaults.headers = {};

  const send = async (config: OutgoingAxiosConfig, adapter: unknown): Promise<OutgoingAxiosResponse> => {
    if (typeof adapter === 'function') return (adapter as Adapter)(config);
    // Only axios can find the adapter of a name. What the outer request has transformed stays as it is.
    const own = { ...config, adapter, transformRequest: asItIs, transformResponse: asItIs };
    try {
      const response = (await bare.request(own)) as OutgoingAxiosResponse;
      response.config = config;
      return response;
    } catch (error) {
      if (typeof error === 'object' && error !== null && 'config' in error) {
        const { response } = error as { response?: OutgoingAxiosResponse };
        error.config = config;
        if (response !== undefined) response.config = config;
      }
      throw error;
    }
  };

  const limited = (adapter: unknown): Adapter => {
    const waits: Adapter = async (config) => {
      const identity = identityOf(config);
      const told = (response: OutgoingAxiosResponse | undefined): void => {
        if (response !== undefined) pauseFor(paused, identity, response.status, axiosHeaders(response.headers));
      };
      const work = async (): Promise<OutgoingAxiosResponse> => {
        try {
          const response = await send(config, adapter);
          told(response);
          return response;
        } catch (error) {
          told((error as { response?: OutgoingAxiosResponse } | undefined)?.response);
          throw error;
        }
      };
      const { signal } = config;
      const own = signal instanceof AbortSignal ? { ...schedule, signal } : schedule;
      return limiter.schedule(policies, identity, work, own);
    };
    before.set(waits, adapter);
    return waits;
  };

  const id = instance.interceptors.request.use((config) => {
    const { adapter } = config;
    const isOwn = typeof adapter === 'function' && before.has(adapter);
    (config as OutgoingAxiosConfig).adapter = limited(isOwn ? before.get(adapter) : adapter);
    return config;
  });
  return () => instance.interceptors.request.eject(id);
}
