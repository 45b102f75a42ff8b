import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { MatchingUnavailableError } from './matching.js';

/** Answers with a 503: the same request can succeed later. */
@Catch(MatchingUnavailableError)
export class MatchingUnavailableFilter extends BaseExceptionFilter {
  override catch(error: MatchingUnavailableError, host: ArgumentsHost): void {
    super.catch(new ServiceUnavailableException(error.message), host);
  }
}
