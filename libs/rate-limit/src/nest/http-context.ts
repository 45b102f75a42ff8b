import type { ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../http/request.js';

// `context.switchToHttp()` makes an object and three functions at each call.

/** The platform's request of an HTTP context. */
export function requestOf(context: ExecutionContext): HttpRequest {
  return context.getArgByIndex<HttpRequest>(0);
}

/** The platform's response of an HTTP context. */
export function responseOf(context: ExecutionContext): unknown {
  return context.getArgByIndex<unknown>(1);
}
