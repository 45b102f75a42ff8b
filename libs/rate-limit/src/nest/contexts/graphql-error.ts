import { IntrinsicException } from '@nestjs/common';
import { exceededBody } from '../../http/bodies.js';
import {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  type RateLimitUnavailableException,
} from '../guard/exceptions.js';
import { alwaysReadable } from '../../util/thrown.js';

/**
 * An error of the guard as clients of GraphQL get it. graphql-js copies the extensions of any error. It is no `HttpException`:
 * Nest's driver for Apollo overwrites the code of these. It is intrinsic, so that Nest does not log each rejection.
 */
class GraphqlRateLimitError extends IntrinsicException {
  static {
    alwaysReadable(this);
  }

  override readonly name = 'GraphqlRateLimitError';
  /** Mercurius answers with it where there is no data. */
  readonly statusCode: number;

  constructor(
    message: string,
    readonly extensions: Readonly<Record<string, unknown>> & { readonly http: { readonly status: number } },
    options: ErrorOptions,
  ) {
    super(message, options);
    this.statusCode = extensions.http.status;
  }
}

/** Apollo Server and GraphQL Yoga answer with `extensions.http.status`; Apollo then leaves `http` out. */
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
  return error({ code: 'RATE_LIMIT_UNAVAILABLE', retryAfter, retryAfterMs: retryAfter * 1000 });
}
