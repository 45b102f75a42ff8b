import { ForbiddenException } from '@nestjs/common';

/** A 403 with the code `error` in its body. */
export function forbidden(error: string, message: string): ForbiddenException {
  return new ForbiddenException({ statusCode: 403, error, message });
}
