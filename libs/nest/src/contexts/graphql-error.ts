import { HttpException } from '@nestjs/common';
import { alwaysReadable, exceededBody } from 'floodgate/internal';
import {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitShedException,
  type RateLimitUnavailableException,
} from '../exceptions/exceptions.js';

/**
 * An error of the guard as GraphQL clients get it: graphql-js copies the extensions of any error. It is an `HttpException`: Nest does
 * not log it, and formatters that mask other errors show it. Its response is a text, because Nest's Apollo driver would overwrite
 * the code of an error whose response has a `statusCode`.
 */
class GraphqlRateLimitError extends HttpException {
  static {
    alwaysReadable(this);
  }

  override readonly name = 'GraphqlRateLimitError';
  /** The status that Mercurius answers with if there is no data. */
  readonly statusCode: number;

  constructor(
    message: string,
    readonly extensions: Readonly<Record<string, unknown>> & { readonly http: { readonly status: number } },
    options: { readonly cause: Error },
  ) {
    super(message, extensions.http.status, options);
    this.statusCode = extensions.http.status;
  }
}

/**
 * Apollo Server and GraphQL Yoga send `extensions.http.status` as the response's own status. Apollo then removes `http` from
 * the error.
 */
export function toGraphqlError(
  exception:
    | RateLimitExceededException
    | RateLimitUnavailableException
    | RateLimitIdentityMissingException
    | RateLimitAddressBlockedException,
): Error {
  const http = { status: exception.getStatus() };
  const error = (extensions: Readonly<Record<string, unknown>>): Error =>
    new GraphqlRateLimitError(exception.message, { ...extensions, http }, { cause: exception });
  if (exception instanceof RateLimitExceededException) {
    const { retry_after, retry_after_ms, policy, estimated } = exceededBody(exception.decision);
    const wait = { retryAfter: retry_after, retryAfterMs: retry_after_ms, ...(estimated && { estimated }) };
    return error({ code: 'RATE_LIMITED', ...wait, policy });
  }
  if (exception instanceof RateLimitIdentityMissingException) {
    return error({ code: 'UNAUTHENTICATED', policy: exception.policy });
  }
  if (exception instanceof RateLimitAddressBlockedException) return error({ code: 'FORBIDDEN' });
  const { retryAfter } = exception;
  const code = exception instanceof RateLimitShedException ? 'LOAD_SHED' : 'RATE_LIMIT_UNAVAILABLE';
  return error({ code, retryAfter, retryAfterMs: retryAfter * 1000 });
}
