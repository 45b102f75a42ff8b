import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { ModelUnavailableError } from './language-model.js';

/** Answers with a 503: the same request can succeed later. */
@Catch(ModelUnavailableError)
export class ModelUnavailableFilter extends BaseExceptionFilter {
  override catch(error: ModelUnavailableError, host: ArgumentsHost): void {
    super.catch(new ServiceUnavailableException(error.message), host);
  }
}
