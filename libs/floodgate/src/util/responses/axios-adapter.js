const asItIs = [(data) => data];
/**
 * Runs a function around the sending of each request of an instance. It runs behind all interceptors of requests and before all of
 * responses: what these throw or change cannot hide from it how a request ended.
 *
 * @returns removes it
 */
export function aroundSending(instance, around) {
  /** The adapters that were there before, by those around them: a retry of the application sends a configuration again. */
  const before = new WeakMap();
  const bare = instance.create();
  // The configuration has them all, without those that interceptors have removed.
  bare.defaults.headers = {};
  const sendBy = async (config, adapter) => {
    if (typeof adapter === 'function') return adapter(config);
    // Only axios can find the adapter of a name. What the outer request has transformed stays as it is.
    const own = { ...config, adapter, transformRequest: asItIs, transformResponse: asItIs };
    try {
      const response = await bare.request(own);
      response.config = config;
      return response;
    } catch (error) {
      if (typeof error === 'object' && error !== null && 'config' in error) {
        const { response } = error;
        error.config = config;
        if (response !== undefined) response.config = config;
      }
      throw error;
    }
  };
  const id = instance.interceptors.request.use((config) => {
    const { adapter: given } = config;
    const adapter = typeof given === 'function' && before.has(given) ? before.get(given) : given;
    const sending = (sent) => {
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
/**
 * Calls a function with the signal that aborts when the configuration's signal does, or its cancel token; undefined where it has
 * neither.
 */
export async function withAbort({ signal, cancelToken }, work) {
  const own = signal instanceof AbortSignal ? signal : undefined;
  if (!isCancelToken(cancelToken)) return work(own);
  const controller = new AbortController();
  const cancel = (reason) => controller.abort(reason);
  cancelToken.subscribe(cancel);
  try {
    return await work(own === undefined ? controller.signal : AbortSignal.any([own, controller.signal]));
  } finally {
    cancelToken.unsubscribe(cancel);
  }
}
function isCancelToken(token) {
  const { subscribe, unsubscribe } = token ?? {};
  return typeof subscribe === 'function' && typeof unsubscribe === 'function';
}
