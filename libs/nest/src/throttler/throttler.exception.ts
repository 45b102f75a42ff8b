import { HttpException, HttpStatus } from '@nestjs/common';
import { alwaysReadable } from 'floodgate/internal';

/** The message of a rejection, unless `errorMessage` or `getErrorMessage` gives another one. */
export const throttlerMessage = 'ThrottlerException: Too Many Requests';

/** A throttler rejected the request: 429. The body holds `statusCode` and `message`. */
export class ThrottlerException extends HttpException {
  static {
    alwaysReadable(this);
  }

  /** @param message default `throttlerMessage` */
  constructor(message?: string) {
    super(message || throttlerMessage, HttpStatus.TOO_MANY_REQUESTS);
  }
}
