import { types } from 'node:util';
import type { Client } from 'floodgate';
import { shown } from 'floodgate/internal';
import { adopted, readable } from 'floodgate/internal-boot';
import type { ContextAdapter } from './context-adapter.js';

type MethodName = Exclude<keyof ContextAdapter, 'type' | 'handlers' | 'place' | 'exchange'>;

/** Whether the answer of each method may be a promise. */
const MAY_WAIT: Readonly<Record<MethodName, boolean>> = {
  isHandler: false,
  operation: false,
  execution: false,
  opened: true,
  request: false,
  response: false,
  client: false,
  ends: false,
  prepare: true,
  toError: false,
  caught: true,
};

type Method = (...args: unknown[]) => unknown;

/**
 * Wraps an application's adapter, so that its failures are readable errors. A method may throw anything, and a synchronous
 * method may return a promise, whose rejection would end the process.
 */
export function ownAdapter(adapter: ContextAdapter): ContextAdapter {
  const own = Object.create(adapter) as Record<string, unknown>;
  for (const [name, mayWait] of Object.entries(MAY_WAIT) as [MethodName, boolean][]) {
    const method = adapter[name] as Method | undefined;
    if (typeof method !== 'function') continue;
    own[name] = (...args: unknown[]): unknown => {
      const answer = called(adapter, method, args);
      // A response of Fastify has a method `then` as well: native promises alone count.
      if (!types.isPromise(answer)) return checked(adapter, name, answer);
      const later = adopted(answer).catch((error: unknown) => Promise.reject(readable(error)));
      if (mayWait) return later;
      later.catch(() => undefined);
      throw new TypeError(`${name} of the adapter for contexts of type '${adapter.type}' must not return a promise`);
    };
  }
  return own as unknown as ContextAdapter;
}

function called(adapter: ContextAdapter, method: Method, args: readonly unknown[]): unknown {
  try {
    return method.apply(adapter, [...args]);
  } catch (error) {
    throw readable(error);
  }
}

/** @throws {TypeError} for an answer that no later step could read */
function checked({ type }: ContextAdapter, name: MethodName, answer: unknown): unknown {
  const isObject = typeof answer === 'object' && answer !== null;
  if (name === 'client' && answer !== undefined)
    return isClient(answer) ? ownClient(answer) : wrong('{ gone, onGone }');
  return name !== 'request' || isObject ? answer : wrong('{ headers, ip }');

  function wrong(right: string): never {
    throw new TypeError(
      `${name} of the adapter for contexts of type '${type}' must return ${right}, got ${shown(answer)}`,
    );
  }
}

function isClient(answer: unknown): answer is Client {
  try {
    return typeof (answer as Partial<Client> | null)?.onGone === 'function';
  } catch {
    return false;
  }
}

/** Wraps an adapter's client. If the client fails, its disconnection cannot be noticed: no caller would handle the error. */
function ownClient(client: Client): Client {
  return {
    get gone() {
      return tried(() => client.gone, false);
    },
    onGone(listener) {
      const unwatch = tried(() => client.onGone(listener), undefined);
      return () => tried(() => unwatch?.(), undefined);
    },
  };
}

function tried<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}
