import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';

export interface Busy {
  readonly status: 429 | 503;
  /** A code, such as `too_many_sends`. */
  readonly error: string;
  readonly message: string;
  /** Whole seconds. */
  readonly retryAfter: number;
}

/** The process has too much to do right now. `BusyFilter` answers with `Retry-After`, in seconds. */
export class BusyException extends HttpException {
  readonly retryAfter: number;

  constructor({ status, error, message, retryAfter }: Busy) {
    super({ statusCode: status, error, message }, status);
    this.retryAfter = retryAfter;
  }
}

/** Answers a `BusyException` with the header `Retry-After`. */
@Catch(BusyException)
export class BusyFilter extends BaseExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {
    super(adapterHost.httpAdapter);
  }

  override catch(error: BusyException, host: ArgumentsHost): void {
    this.adapterHost.httpAdapter.setHeader(host.switchToHttp().getResponse(), 'Retry-After', `${error.retryAfter}`);
    super.catch(error, host);
  }
}
