/** What the limiters need of a request's configuration. */
export interface AdaptedConfig {
  readonly signal?: unknown;
  readonly cancelToken?: unknown;
  adapter?: unknown;
}

/** What they need of a response. */
export interface AdaptedResponse {
  config: unknown;
}

/** An instance of axios, by its shape: axios is no dependency. */
export interface AdaptedAxios<Config> {
  readonly interceptors: {
    readonly request: {
      use(fulfilled: (config: Config) => Config | Promise<Config>, rejected?: (error: unknown) => unknown): number;
      eject(id: number): void;
    };
  };
  /** Makes an instance without the interceptors. */
  create(defaults?: object): { readonly defaults: { headers: unknown }; request(config: object): Promise<unknown> };
}

type Adapter<Config, Response> = (config: Config) => Promise<Response>;
const asItIs = [(data: unknown): unknown => data];

/**
 * Runs a function around the sending of each request of an instance. It runs behind all interceptors of requests and before all of
 * responses: what these throw or change cannot hide from it how a request ended.
 *
 * @returns removes it
 */
export function aroundSending<Config extends AdaptedConfig, Response extends AdaptedResponse>(
  instance: AdaptedAxios<Config>,
  around: (config: Config, send: () => Promise<Response>) => Promise<Response>,
): () => void {
  /** The adapters that were there before, by those around them: a retry of the application sends a configuration again. */
  const before = new WeakMap<object, unknown>();
  const bare = instance.create();
  // The configuration has them all, without those that interceptors have removed.
  bare.defaults.headers = {};

  const sendBy = async (config: Config, adapter: unknown): Promise<Response> => {
    if (typeof adapter === 'function') return (adapter as Adapter<Config, Response>)(config);
    // Only axios can find the adapter of a name. What the outer request has transformed stays as it is.
    const own = { ...config, adapter, transformRequest: asItIs, transformResponse: asItIs };
    try {
      const response = (await bare.request(own)) as Response;
      response.config = config;
      return response;
    } catch (error) {
      if (typeof error === 'object' && error !== null && 'config' in error) {
        const { response } = error as { response?: Response };
        error.config = config;
        if (response !== undefined) response.config = config;
      }
      throw error;
    }
  };

  const id = instance.interceptors.request.use((config) => {
    const { adapter: given } = config;
    const adapter = typeof given === 'function' && before.has(given) ? before.get(given) : given;
    const sending: Adapter<Config, Response> = (sent) => {
      // A retry runs the interceptors again, each of which puts its own adapter around this one.
      sent.adapter = adapter;
      return around(sent, () => sendBy(sent, adapter));
    };
    before.set(sending, adapter);
    config.adapter = sending;
    return config;
  });
  return () => instance.interceptors.request.eject(id);
}

/** The older way of axios to cancel requests. */
interface CancelToken {
  readonly reason?: unknown;
  subscribe(listener: (reason: unknown) => void): void;
  unsubscribe(listener: (reason: unknown) => void): void;
}

/**
 * Calls a function with the signal that aborts when the configuration's signal does, or its cancel token; undefined where it has
 * neither.
 */
export async function withAbort<T>(
  { signal, cancelToken }: AdaptedConfig,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const own = signal instanceof AbortSignal ? signal : undefined;
  if (!isCancelToken(cancelToken)) return work(own);
  const controller = new AbortController();
  const cancel = (reason: unknown): void => controller.abort(reason);
  cancelToken.subscribe(cancel);
  try {
    return await work(own === undefined ? controller.signal : AbortSignal.any([own, controller.signal]));
  } finally {
    cancelToken.unsubscribe(cancel);
  }
}

function isCancelToken(token: unknown): token is CancelToken {
  const { subscribe, unsubscribe } = (token ?? {}) as Partial<CancelToken>;
  return typeof subscribe === 'function' && typeof unsubscribe === 'function';
}
