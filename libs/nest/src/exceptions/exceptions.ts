import { ForbiddenException, HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import { type Decision, LimiterUnavailableError } from 'floodgate';
import {
  addressBlockedBody,
  alwaysReadable,
  ClientGoneError,
  exceededBody,
  identityMissingBody,
  IdentityMissingError,
  SHED_MESSAGE,
  shedBody,
  unavailableBody,
} from 'floodgate/internal';

/**
 * The policies rejected a request: 429. An application may throw it with a decision of `RateLimiter.consume`; the answer then
 * has the same headers.
 *
 * @example if (!decision.allowed) throw new RateLimitExceededException(decision);
 */
export class RateLimitExceededException extends HttpException {
  static {
    alwaysReadable(this);
  }

  #answered = false;

  constructor(readonly decision: Decision) {
    super(exceededBody(decision), HttpStatus.TOO_MANY_REQUESTS);
  }

  /** @internal Marks an exception whose headers the guard has set or left out. */
  static markAnswered(thrown: unknown): void {
    if (typeof thrown === 'object' && thrown !== null && #answered in thrown) thrown.#answered = true;
  }

  /** @internal Whether the guard has decided on the headers. */
  static isAnswered(exception: object): boolean {
    return #answered in exception && exception.#answered;
  }
}

/**
 * The limiter could not decide on a request, or could not keep it waiting: 503.
 *
 * @example throw new RateLimitUnavailableException('The partner is not available', 30);
 */
export class RateLimitUnavailableException extends HttpException {
  static {
    alwaysReadable(this);
  }

  /** @param retryAfter whole seconds, as in the `Retry-After` header */
  constructor(
    message: string,
    readonly retryAfter = 1,
    options?: ErrorOptions,
  ) {
    super(unavailableBody(message, retryAfter), HttpStatus.SERVICE_UNAVAILABLE, options);
  }
}

/**
 * The process is over a threshold of the module's `shed`, and rejects requests of this class: 503. No
 * policy was charged, and no store was asked. Filters for `RateLimitUnavailableException` catch it as well.
 *
 * @example if (error instanceof RateLimitShedException) console.warn(`shed a request of ${error.priority}`);
 */
export class RateLimitShedException extends RateLimitUnavailableException {
  static {
    alwaysReadable(this);
  }

  /**
   * @param priority the class of the request
   * @param retryAfter whole seconds, as in the `Retry-After` header
   */
  constructor(
    readonly priority: string,
    retryAfter = 1,
  ) {
    super(SHED_MESSAGE, retryAfter);
  }

  override getResponse(): object {
    return shedBody(this.retryAfter);
  }
}

/**
 * A request lacks the identity that a policy counts, and `onMissingIdentity` is `'reject'`: 401. Filters for
 * `UnauthorizedException` catch it as well, as from an authentication guard. Nothing was charged. It is no 429, because a retry
 * would not help.
 *
 * @example if (error instanceof RateLimitIdentityMissingException) console.warn(`${error.policy} counts no such request`);
 */
export class RateLimitIdentityMissingException extends UnauthorizedException {
  static {
    alwaysReadable(this);
  }

  /** @param policy the name of the policy */
  constructor(readonly policy: string) {
    super(identityMissingBody(policy));
  }
}

/**
 * The client's address is in the module's `blockList`: 403. Filters for `ForbiddenException` catch it as well. Nothing was
 * charged. It is no 429, because a retry would not help.
 *
 * @example if (error instanceof RateLimitAddressBlockedException) console.warn('an address of the block list');
 */
export class RateLimitAddressBlockedException extends ForbiddenException {
  static {
    alwaysReadable(this);
  }

  constructor() {
    super(addressBlockedBody());
  }
}

/** Whether the guard throws this exception itself. */
export function isRateLimitException(
  error: unknown,
): error is
  | RateLimitExceededException
  | RateLimitUnavailableException
  | RateLimitIdentityMissingException
  | RateLimitAddressBlockedException {
  return (
    error instanceof RateLimitAddressBlockedException ||
    error instanceof RateLimitExceededException ||
    error instanceof RateLimitUnavailableException ||
    error instanceof RateLimitIdentityMissingException
  );
}

/** One for all, as `ClientGoneError` has it. Made with the first: the package is loaded sooner without its stack. */
let clientGone: RateLimitUnavailableException | undefined;

/** Whether the exception is for a client that has left. */
export function isForNobody(exception: unknown): boolean {
  return exception !== undefined && exception === clientGone;
}

/** Maps the engine's errors to HTTP exceptions. Other errors stay as they are. */
export function toHttpException(error: unknown): unknown {
  if (error instanceof IdentityMissingError) return new RateLimitIdentityMissingException(error.policy);
  if (error instanceof ClientGoneError) return (clientGone ??= new RateLimitUnavailableException(error.message, 1));
  if (error instanceof LimiterUnavailableError) {
    const { cause, message, retryAfterMs, toldToClients } = error;
    // The exception of an error that tells clients less has the error as its cause, for filters and logs.
    const reason = toldToClients === message ? cause : error;
    const options = reason === undefined ? undefined : { cause: reason };
    return new RateLimitUnavailableException(toldToClients, Math.ceil(retryAfterMs / 1000), options);
  }
  return error;
}
