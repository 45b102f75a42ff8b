import { type Call, Governor } from './governor.js';
import { checkClientOptions, type ClientRequest, type RateLimitClientOptions } from './options.js';
import { axiosHeaders } from '../../rate-limit/src/util/responses/axios-headers.js';
import { readBody } from '../../rate-limit/src/util/responses/read-response.js';

/** What `rateLimitAxios` needs of a request's configuration. */
export interface AxiosConfigLike {
  readonly method?: string;
  readonly headers?: unknown;
  readonly signal?: unknown;
  data?: unknown;
}

/** What `rateLimitAxios` needs of a response. */
export interface AxiosResponseLike<Config> {
  readonly status: number;
  readonly headers: unknown;
  readonly data: unknown;
  readonly config: Config;
}

export interface AxiosInterceptorsLike<V> {
  use(fulfilled: (value: V) => V | Promise<V>, rejected?: (error: unknown) => unknown): number;
  eject(id: number): void;
}

/** An instance of axios, by its shape: axios itself is no dependency. */
export interface AxiosLike<Config, Response> {
  readonly interceptors: {
    readonly request: AxiosInterceptorsLike<Config>;
    readonly response: AxiosInterceptorsLike<Response>;
  };
  request(config: object): Promise<unknown>;
  getUri(config?: object): string;
}

/** The state of a call in its configuration. Axios copies plain objects, and keeps instances of a class as they are. */
class Attempts {
  constructor(
    readonly call: Call,
    /** The body before axios turns it into text. */
    readonly data: unknown,
  ) {}
}

const STATE = 'floodgate';
type WithState = AxiosConfigLike & { [STATE]?: Attempts };

/**
 * Lets an instance of axios wait where a server asks for it, as `rateLimitFetch` does. Give it the `axiosRef` of Nest's
 * `HttpService`. A call ends as axios ends it: with the error of the last 429, or its response where `validateStatus` allows it.
 *
 * A retry runs the request interceptors again. A body that is a stream is sent once.
 *
 * @returns removes the interceptors
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 * @example rateLimitAxios(httpService.axiosRef, { maxWait: '30s' });
 */
export function rateLimitAxios<Config extends AxiosConfigLike, Response extends AxiosResponseLike<Config>>(
  instance: AxiosLike<Config, Response>,
  options: RateLimitClientOptions = {},
): () => void {
  const governor = new Governor(checkClientOptions(options, 'rateLimitAxios'));
  const { request, response } = instance.interceptors;

  const leave = async (config: Config): Promise<Config> => {
    // The configuration of a call that is over can begin another one.
    const known = [(config as WithState)[STATE]].find((state) => state?.call.isOver === false);
    const described = describe(instance.getUri(config), config);
    if (described === undefined) return config;
    const signal = config.signal instanceof AbortSignal ? config.signal : undefined;
    const call = known?.call ?? governor.begin(described, signal);
    (config as WithState)[STATE] = known ?? new Attempts(call, config.data);
    // Of a call that has an answer, `again` has asked already.
    if (known !== undefined) return config;
    try {
      if (!(await call.mayLeave())) throw call.lateError();
    } catch (error) {
      call.end();
      // Axios then rejects with its own error of a cancelled request.
      if (signal?.aborted !== true) throw error;
    }
    return config;
  };

  /** The answer to one more attempt, or undefined when the call ends with this response. */
  const again = async ({ status, headers, data, config }: Response): Promise<Response | undefined> => {
    const state = (config as WithState)[STATE];
    if (state === undefined) return undefined;
    const { call } = state;
    const answer = { status, header: axiosHeaders(headers), body: status === 429 ? readBody(data) : undefined };
    if (!call.answer(answer) || isStream(state.data) || !(await mayLeaveOrAborts(call, config))) {
      call.end();
      return undefined;
    }
    config.data = state.data;
    return (await instance.request(config)) as Response;
  };

  const ids = [
    request.use(leave),
    response.use(
      async (answered) => (await again(answered)) ?? answered,
      async (error: unknown) => {
        const { response: answered, config } = (error ?? {}) as { response?: Response; config?: WithState };
        if (answered === undefined) {
          config?.[STATE]?.call.fail();
          config?.[STATE]?.call.end();
          throw error;
        }
        const next = await again(answered);
        if (next === undefined) throw error;
        return next;
      },
    ),
  ] as const;
  return () => {
    request.eject(ids[0]);
    response.eject(ids[1]);
  };
}

/** True when the wait was aborted: axios then rejects the attempt with its own error. */
async function mayLeaveOrAborts(call: Call, { signal }: AxiosConfigLike): Promise<boolean> {
  try {
    return await call.mayLeave();
  } catch (error) {
    if (signal instanceof AbortSignal && signal.aborted) return true;
    throw error;
  }
}

function describe(uri: string, { method, headers }: AxiosConfigLike): ClientRequest | undefined {
  const base = (globalThis as { readonly location?: { readonly href?: string } }).location?.href;
  if (!URL.canParse(uri, base)) return undefined;
  return { method: (method ?? 'get').toUpperCase(), url: new URL(uri, base), header: axiosHeaders(headers) };
}

function isStream(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false;
  return ['pipe', 'getReader', Symbol.asyncIterator].some((key) => key in data);
}
