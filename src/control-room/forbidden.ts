import { ForbiddenException } from '@nestjs/common';

/** A 403 whose body has the code `error`. */
export function forbidden(error: string, message: string): ForbiddenException {
  return new ForbiddenException({ statusCode: 403, error, message });
}
