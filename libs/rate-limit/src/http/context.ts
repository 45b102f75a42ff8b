import type { ExecutionContext } from '@nestjs/common';

/** What Express's and Fastify's requests have in common, as far as the guard needs it. */
export interface HttpRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders?: readonly string[];
  readonly raw?: { readonly rawHeaders?: readonly string[] };
  readonly ip?: string;
  readonly socket?: { readonly remoteAddress?: string };
}

// `context.switchToHttp()` makes an object and three functions at each call.

/** The platform's request of an HTTP context. */
export function requestOf(context: ExecutionContext): HttpRequest {
  return context.getArgByIndex<HttpRequest>(0);
}

/** The platform's response of an HTTP context. */
export function responseOf(context: ExecutionContext): unknown {
  return context.getArgByIndex<unknown>(1);
}
