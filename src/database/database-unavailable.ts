import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/** The database did not answer. It is no client's fault and can pass. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';

  /** @param reason a code or a message of the driver: it names no password */
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super('the database is unavailable', options);
  }
}

/** Answers with a 503: the same request can succeed later. The reason may name hosts, so only the log has it. */
@Catch(DatabaseUnavailableError)
export class DatabaseUnavailableFilter extends BaseExceptionFilter {
  override catch(error: DatabaseUnavailableError, host: ArgumentsHost): void {
    super.catch(new ServiceUnavailableException(error.message), host);
  }
}
