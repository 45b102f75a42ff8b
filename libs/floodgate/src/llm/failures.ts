import { LimiterUnavailableError } from '../charges/errors.js';

/** Codes of a connection that was never made. */
const NOT_REACHED: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The most causes of an error that are read. */
const MAX_CAUSES = 10;

interface Thrown {
  readonly cause?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly response?: { readonly status?: unknown } | null;
}

/** Whether a provider that answers this has used no token. Behind a gateway that timed out, the model may have answered. */
export function isRefusal(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status !== 408 && status !== 504;
}

/**
 * Whether a call that failed has certainly used no token: the provider has refused it, or was not reached, or it got no turn. Any other one, such as one
 * that was aborted for whatever reason, may have been answered.
 */
export function usedNothing(error: unknown): boolean {
  if (error instanceof LimiterUnavailableError) return true;
  let one = error;
  for (let i = 0; i < MAX_CAUSES && typeof one === 'object' && one !== null; i++) {
    const { code, status, statusCode, response, cause } = one as Thrown;
    if (NOT_REACHED.has(code) || isRefusal(status ?? statusCode ?? response?.status)) return true;
    one = cause;
  }
  return false;
}
