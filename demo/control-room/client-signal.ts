import type { ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, HttpException } from '@nestjs/common';

/** The status that proxies use when the client closed the connection before the answer. No client receives it. */
export const CLIENT_CLOSED_REQUEST = 499;

/**
 * A parameter of a handler: an `AbortSignal` that is aborted when the client's connection closes before the answer is complete. Its
 * reason is an `HttpException`, so that Nest logs no error for a client who has left.
 *
 * @example
 * ```ts
 * send(@ClientSignal() gone: AbortSignal): Promise<PodsResult>
 * ```
 */
export const ClientSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const answer = context.switchToHttp().getResponse<ServerResponse | { readonly raw: ServerResponse }>();
  const response = 'raw' in answer ? answer.raw : answer;
  const controller = new AbortController();
  const closed = (): void => {
    if (response.writableFinished) return;
    controller.abort(new HttpException('the client closed the connection before the answer', CLIENT_CLOSED_REQUEST));
  };
  if (response.destroyed) closed();
  else response.once('close', closed);
  return controller.signal;
});
