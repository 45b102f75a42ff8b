import { type AdaptedAxios, aroundSending, withAbort } from '../../floodgate/src/util/responses/axios-adapter.js';
import { axiosHeaders } from '../../floodgate/src/util/responses/axios-headers.js';
import { type Answer, type BodyWait, readBody } from '../../floodgate/src/util/responses/read-response.js';
import { type Call, Governor } from './governor.js';
import { checkClientOptions, type ClientRequest, type RateLimitClientOptions } from './options.js';

/** What `rateLimitAxios` needs of a request's configuration. */
export interface AxiosConfigLike {
  readonly method?: string;
  readonly headers?: unknown;
  readonly signal?: unknown;
  readonly cancelToken?: unknown;
  adapter?: unknown;
  data?: unknown;
}

/** What `rateLimitAxios` needs of a response. */
export interface AxiosResponseLike<Config> {
  readonly status: number;
  readonly headers: unknown;
  readonly data: unknown;
  config: Config;
}

export interface AxiosInterceptorsLike<V> {
  use(fulfilled: (value: V) => V | Promise<V>, rejected?: (error: unknown) => unknown): number;
  eject(id: number): void;
}

/** An instance of axios, by its shape: axios itself is no dependency. */
export interface AxiosLike<Config, Response> extends AdaptedAxios<Config> {
  readonly interceptors: {
    readonly request: AxiosInterceptorsLike<Config>;
    readonly response: AxiosInterceptorsLike<Response>;
  };
  request(config: object): Promise<unknown>;
  getUri(config?: object): string;
}

/** The state of a call in its configuration. Axios copies plain objects, and keeps instances of a class as they are. */
class Attempts {
  /** Whether the last answer asks for one more attempt. */
  mayRepeat = false;

  constructor(
    readonly call: Call,
    /** The body before axios turns it into text. */
    readonly data: unknown,
  ) {}
}

const STATE = 'floodgate';
type WithState = AxiosConfigLike & { [STATE]?: Attempts };
/** The body of a rejection is a few hundred bytes. */
const LONGEST_BODY = 16_384;

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

  const begin = (config: Config): Config => {
    // The configuration of a call that is over can begin another one.
    const known = [(config as WithState)[STATE]].find((state) => state?.call.isOver === false);
    const described = describe(instance.getUri(config), config);
    if (described !== undefined) {
      (config as WithState)[STATE] = known ?? new Attempts(governor.begin(described), config.data);
    }
    return config;
  };

  // Not in the interceptors: another one, or an adapter, may end a request with an error that does not say whose it is.
  const attempt = async (config: Config, send: () => Promise<Response>): Promise<Response> => {
    const state = (config as WithState)[STATE];
    if (state === undefined) return send();
    const { call } = state;
    // For a further attempt, `again` has asked.
    if (!call.hasTurn && !(await withAbort(config, (signal) => call.mayLeave(signal)))) throw call.lateError();
    try {
      const answered = await send();
      state.mayRepeat = call.answer(answerOf(answered));
      return answered;
    } catch (error) {
      const answered = (error as { response?: Response } | undefined)?.response;
      if (answered === undefined) call.fail();
      else state.mayRepeat = call.answer(answerOf(answered));
      throw error;
    }
  };

  /** The answer to one more attempt, or undefined when the call ends with this response. */
  const again = async ({ config, data }: Pick<Response, 'config' | 'data'>): Promise<Response | undefined> => {
    const state = (config as WithState)[STATE];
    if (state === undefined) return undefined;
    const { call } = state;
    if (!state.mayRepeat || isStream(state.data) || !(await mayLeaveOrAborts(call, config))) {
      call.end();
      return undefined;
    }
    state.mayRepeat = false;
    discard(data);
    config.data = state.data;
    try {
      return (await instance.request(config)) as Response;
    } finally {
      call.fail(); // an interceptor may have kept the attempt from being sent
    }
  };

  const begins = request.use(begin);
  const removeAttempts = aroundSending<Config, Response>(instance, attempt);
  const ends = response.use(
    async (answered) => (await again(answered)) ?? answered,
    async (error: unknown) => {
      const { response: answered, config } = (error ?? {}) as { response?: Response; config?: WithState };
      const next = answered === undefined ? undefined : await again(answered);
      if (next !== undefined) return next;
      config?.[STATE]?.call.end();
      throw error;
    },
  );
  return () => {
    request.eject(begins);
    removeAttempts();
    response.eject(ends);
  };
}

/** True when the wait was aborted: axios then rejects the attempt with its own error. */
async function mayLeaveOrAborts(call: Call, config: AxiosConfigLike): Promise<boolean> {
  return withAbort(config, async (signal) => {
    try {
      return await call.mayLeave(signal);
    } catch (error) {
      if (signal?.aborted === true) return true;
      throw error;
    }
  });
}

function answerOf({ status, headers, data }: Pick<AxiosResponseLike<unknown>, 'status' | 'headers' | 'data'>): Answer {
  return { status, header: axiosHeaders(headers), body: status === 429 ? bodyOf(data) : undefined };
}

/** What the body of a rejection says, which axios has not parsed yet. */
function bodyOf(data: unknown): BodyWait | undefined {
  if (typeof data !== 'string') return readBody(data);
  if (data.length > LONGEST_BODY) return undefined;
  try {
    return readBody(JSON.parse(data));
  } catch {
    return undefined;
  }
}

/** Frees the connection of a response that nobody reads. */
function discard(data: unknown): void {
  const { destroy, cancel } = (data ?? {}) as { destroy?: unknown; cancel?: unknown };
  if (typeof destroy === 'function') destroy.call(data);
  else if (typeof cancel === 'function') (cancel.call(data) as Promise<unknown>).catch(() => undefined);
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
