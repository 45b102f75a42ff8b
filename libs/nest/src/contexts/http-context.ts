import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { RateLimitRequest } from 'floodgate/http';
import type { HttpRequest } from 'floodgate/internal';
import type { ContextView } from './context-view.js';

// `context.switchToHttp()` makes an object and three functions at each call.

/** The platform's request of an HTTP context; in another context an object with the same members. */
export function requestOf(context: ExecutionContext): HttpRequest & RateLimitRequest {
  return isHttp(context) ? context.getArgByIndex<HttpRequest>(0) : (context as ContextView).request;
}

/** The platform's response of an HTTP context; in another context the HTTP response that carries its answer, if any. */
export function responseOf(context: ExecutionContext): unknown {
  return isHttp(context) ? context.getArgByIndex<unknown>(1) : (context as ContextView).response;
}

/** Whether the context is HTTP. The guard and policy functions get any other context as a `ContextView`. */
export function isHttp(context: ExecutionContext): boolean {
  return context.getType() === 'http';
}

/** Whether it is a context of Nest, of any kind. */
export function isHost(target: unknown): target is ArgumentsHost {
  const { getArgs, getType } = Object(target) as Partial<ArgumentsHost>;
  return typeof getArgs === 'function' && typeof getType === 'function';
}
