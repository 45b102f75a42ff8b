import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, createParamDecorator, type ExecutionContext, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/**
 * The status that proxies use when the client closed the connection before the answer. No client receives it; metrics count it.
 */
export const CLIENT_CLOSED_REQUEST = 499;

/** The reason of the signals of `ClientSignal`. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection before the answer');
  }
}

/**
 * A parameter of a handler: an `AbortSignal` that is aborted, with a `ClientGoneError`, when the client's connection closes
 * before the answer is complete. It is aborted from the start if that has happened before the handler runs.
 *
 * A pipelined request that is not the next to be answered does not see its client leave.
 *
 * @example
 * ```ts
 * nearby(@Query() query: NearbyQuery, @ClientSignal() gone: AbortSignal): Promise<NearbyDriver[]>
 * ```
 */
export const ClientSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const response = context.switchToHttp().getResponse<ServerResponse | { readonly raw: ServerResponse }>();
  return signalOf('raw' in response ? response.raw : response);
});

function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const closed = (): void => {
    if (!response.writableFinished) controller.abort(new ClientGoneError());
  };
  if (response.destroyed) closed();
  else response.once('close', closed);
  return controller.signal;
}

/** Ends the request of a client who has left, without a line in the log. */
@Catch(ClientGoneError)
export class ClientGoneFilter extends BaseExceptionFilter {
  override catch(error: ClientGoneError, host: ArgumentsHost): void {
    super.catch(new HttpException(error.message, CLIENT_CLOSED_REQUEST), host);
  }
}
