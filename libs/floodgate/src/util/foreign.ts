// What belongs to the application may be a Proxy that throws at any question, as the providers of nestjs-cls do outside of a
// request. It is then nothing of the library's.

/** Whether a value is an instance of a class. */
export function isInstanceOf<Instance>(
  value: unknown,
  type: abstract new (...args: never) => Instance,
): value is Instance {
  return orUndefined(() => value instanceof type) === true;
}

/** The prototype of a class; undefined for functions that are no class. */
export function prototypeOf(type: object): object | undefined {
  const prototype = orUndefined(() => (type as { readonly prototype?: unknown }).prototype);
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined;
}

/** The class of an instance; undefined without one. */
export function classOf(instance: object): object | undefined {
  return orUndefined(() => instance.constructor);
}

function orUndefined<Value>(ask: () => Value): Value | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
