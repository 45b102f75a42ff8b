import type { HttpAdapterHost } from '@nestjs/core';
import { isPromise } from 'floodgate/internal-boot';
import { RateLimitLogger } from '../handlers/logger.js';

/** Passes a request on with `next()`, or answers it with `next(error)`. */
export type Middleware = (request: object, response: object, next: (error?: unknown) => void) => void;

type Adapter = HttpAdapterHost['httpAdapter'];
type Hook = (request: object, response: object, next: (error?: unknown) => void) => unknown;

/**
 * Calls `middleware` for every request before anything else. Nest's `MiddlewareConsumer` comes too late: body parsers have
 * rejected requests, CORS has answered preflights, and paths that match no pattern were skipped. Over Fastify even the hook for
 * CORS comes before all hooks but the adapter's own.
 *
 * The adapter holds one hook: a hook that the application has set, or sets later, still runs, before the middleware. If that
 * hook fails, the request is rejected. Only its first call of `done` counts, as in Nest 12: with Express, Nest 11 would let a
 * second call pass the request before the middleware has decided.
 *
 * @returns false when the platform is neither Express nor Fastify
 */
export function beforeRouting(adapter: Adapter, middleware: Middleware): boolean {
  const platform: unknown = adapter.getType();
  if (platform !== 'express' && platform !== 'fastify') return false;
  let other = (adapter as unknown as { readonly onRequestHook?: Hook }).onRequestHook;
  adapter.setOnRequestHook((request: object, response: object, done: (error?: unknown) => void): void => {
    if (other === undefined) return middleware(request, response, done);
    let went = false;
    const next = (error?: unknown): void => {
      if (went) {
        if (error) new RateLimitLogger().error(error);
        return;
      }
      went = true;
      if (error) done(error);
      else middleware(request, response, done);
    };
    const result = other.call(adapter, request, response, next);
    if (!isPromise(result)) return;
    result.then(
      () => {
        // The adapter for Fastify passes a request on when the hook resolves.
        if (platform === 'fastify') next();
      },
      (error: unknown) => next(error || new Error('A request hook failed')),
    );
  });
  adapter.setOnRequestHook = (hook) => {
    other = hook as Hook;
  };
  return true;
}
