import { HttpException, HttpStatus } from '@nestjs/common';
import {
  type ErrorCode,
  OverrideConflictError,
  RateLimitConfigError,
  RateLimitStoreError,
  TooManyOverridesError,
} from 'floodgate';
import { RateLimitUnavailableException } from '../exceptions/exceptions.js';

/** The parts of a message that only developers need: its beginning, and the link at its end. */
const FOR_DEVELOPERS = /^RateLimit\w+(?:\.\w+)?[:,] | \(see https:[^)]*\)$/g;

const UNKNOWN: readonly ErrorCode[] = ['FG_UNKNOWN_POLICY', 'FG_UNKNOWN_ROUTE'];

/** Runs `work` for a request, and converts its failures to a 400, 404, 409 or 503. */
export async function answered<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw exceptionOf(error);
  }
}

/** Converts any failure of the store, of its client or of the application, to one kind of error. */
export async function storeAnswered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RateLimitConfigError) throw error;
    throw new RateLimitStoreError((error as Error).message, { cause: error });
  }
}

/** The 404 for an override that does not exist. */
export function noOverride(): HttpException {
  return answer(HttpStatus.NOT_FOUND, 'not_found', 'There is no override of exactly this policy, identity and scope');
}

function exceptionOf(error: unknown): unknown {
  if (error instanceof RateLimitConfigError) {
    const { code } = error;
    const message = error.message.replaceAll(FOR_DEVELOPERS, '');
    return UNKNOWN.includes(code)
      ? answer(HttpStatus.NOT_FOUND, 'not_found', message, { code })
      : answer(HttpStatus.BAD_REQUEST, 'invalid_request', message, { code });
  }
  if (error instanceof OverrideConflictError) {
    const { message, expectedVersion, actualVersion } = error;
    return answer(HttpStatus.CONFLICT, 'version_conflict', message, { expectedVersion, actualVersion });
  }
  if (error instanceof TooManyOverridesError) {
    const { message, count } = error;
    return answer(HttpStatus.CONFLICT, 'too_many_overrides', message, { count });
  }
  if (error instanceof RateLimitStoreError) {
    const message = 'The store does not answer. A change that was asked for may have been carried out';
    return new RateLimitUnavailableException(message, 1, { cause: error });
  }
  return error;
}

function answer(statusCode: HttpStatus, error: string, message: string, more: object = {}): HttpException {
  return new HttpException({ statusCode, error, message, ...more }, statusCode);
}
