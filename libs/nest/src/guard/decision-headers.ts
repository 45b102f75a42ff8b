import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { type Decision, RateLimitConfigError } from 'floodgate';
import { type HeaderSetter, type HeaderSettings, shown } from 'floodgate/internal';
import { besideEarlier } from 'floodgate/internal-boot';
import type { Contexts } from '../contexts/contexts.js';
import { isHost } from '../contexts/http-context.js';
import { setDecisionHeaders } from './http-answer.js';

/** Sets the headers of decisions that handlers ask for themselves. */
export class DecisionHeaders implements HeaderSetter {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly settings: HeaderSettings,
    private readonly contexts: Pick<Contexts, 'of'>,
  ) {}

  set(target: object, decision: Decision): boolean {
    const { httpAdapter } = this.adapterHost;
    const response = isHost(target) ? this.responseOf(target) : target;
    if (isHost(target) && response === undefined) return false;
    if (!isResponse(response)) throw noResponse(target);
    // An application context has no HTTP.
    if (typeof httpAdapter?.isHeadersSent !== 'function') return false;
    // Node's own response, which the adapter of Fastify does not know.
    if (httpAdapter.isHeadersSent(response) === true || response.headersSent === true) return false;
    setDecisionHeaders(httpAdapter, response, decision, this.settings, besideEarlier);
    return true;
  }

  private responseOf(host: ArgumentsHost): unknown {
    const adapter = this.contexts.of(host.getType<string>());
    // The adapters read the arguments alone.
    return adapter?.response?.(host as ExecutionContext);
  }
}

/** Express's and Node's response has `setHeader`, Fastify's `header`. */
function isResponse(given: unknown): given is { readonly headersSent?: unknown } {
  const { header, setHeader } = Object(given) as { readonly header?: unknown; readonly setHeader?: unknown };
  return typeof header === 'function' || typeof setHeader === 'function';
}

function noResponse(target: unknown): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimiter.setHeaders',
    `takes the response, as of @Res({ passthrough: true }), or the ExecutionContext, got ${shown(target)}`,
  );
}
