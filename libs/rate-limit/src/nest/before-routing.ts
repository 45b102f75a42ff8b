import type { HttpAdapterHost } from '@nestjs/core';
import { isPromise } from '../util/is-promise.js';

/** Goes on with the platform's request and response by `next`, or answers an error by `next(error)`. */
export type Middleware = (request: object, response: object, next: (error?: unknown) => void) => void;

type Adapter = HttpAdapterHost['httpAdapter'];
type Hook = (request: object, response: object, next: (error?: unknown) => void) => unknown;

/**
 * Calls `middleware` for every request before anything else is done with it. What Nest's `MiddlewareConsumer` registers comes
 * later: body parsers have refused, CORS has answered preflights, and paths that no pattern matches pass it by.
 *
 * @returns false when the platform is neither Express nor Fastify
 */
export function beforeRouting(adapter: Adapter, middleware: Middleware): boolean {
  const platform: unknown = adapter.getType();
  if (platform === 'express') adapter.use(middleware);
  else if (platform === 'fastify') beforeHooks(adapter, middleware);
  else return false;
  return true;
}

/**
 * Of Fastify's hooks only that of the adapter comes before its own for CORS. It holds one: who has set it, or sets it later,
 * still has his, and it runs first.
 */
function beforeHooks(adapter: Adapter, middleware: Middleware): void {
  let other = (adapter as unknown as { readonly onRequestHook?: Hook }).onRequestHook;
  adapter.setOnRequestHook((request: object, response: object, done: (error?: unknown) => void): void => {
    if (other === undefined) return middleware(request, response, done);
    let went = false;
    const next = (error?: unknown): void => {
      if (went) return;
      went = true;
      if (error) done(error);
      else middleware(request, response, done);
    };
    const result = other.call(adapter, request, response, next);
    // As the adapter reads it: what is resolved goes on.
    if (isPromise(result))
      result.then(
        () => next(),
        (error: unknown) => next(error || new Error('A request hook failed')),
      );
  });
  adapter.setOnRequestHook = (hook) => {
    other = hook as Hook;
  };
}
