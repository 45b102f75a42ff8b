import { readRetryAfter } from './retry-after.js';
import { readStatements } from './statements.js';
/** The methods that may be repeated (RFC 9110, section 9.2.2), and QUERY (draft-ietf-httpbis-safe-method-w-body). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'QUERY']);
/** `Retry-After` is the body's milliseconds rounded up to seconds, and at least 1. */
const ROUNDING_MS = 1000;
/** What an answer tells of its limits; undefined for a rejection that does not say when to come again. */
export function readAnswer({ status, header, body }, { preemptive, wallNow }) {
  const rejected = status === 429 || status === 503;
  const stated = preemptive || rejected ? readStatements(header, wallNow) : [];
  const statements = preemptive ? stated : [];
  if (!rejected) return { statements };
  if (body?.ms === null) return undefined;
  const headerMs = readRetryAfter(header('retry-after'), header('date'), wallNow);
  if (body !== undefined && agree(body.ms, headerMs)) {
    return { statements, retryAfterMs: body.ms, precision: body.estimated ? 'estimated' : 'exact' };
  }
  const retryAfterMs = headerMs ?? (status === 429 ? untilMore(stated) : undefined);
  return retryAfterMs === undefined ? undefined : { statements, retryAfterMs };
}
/** Whether the same request may be sent again after a rejection. */
export function mayRepeat(status, method, unsafeOn503) {
  // A server answers 429 in place of the work, so that every method can be repeated (RFC 6585, section 4). A 503 may come from
  // a server that broke down in the middle of the work.
  return status === 429 || unsafeOn503 || IDEMPOTENT.has(method);
}
/** What Floodgate's bodies say of the wait; undefined for another body. */
export function readBody(body) {
  if (typeof body !== 'object' || body === null) return undefined;
  // The second spelling is that of problem details.
  const { retry_after_ms: ms = body['retry-after-ms'], estimated } = body;
  const isWait = ms === null || (typeof ms === 'number' && ms >= 0 && ms <= Number.MAX_SAFE_INTEGER);
  return isWait ? { ms, estimated: estimated === true } : undefined;
}
/** Whether the header says the same in seconds. A browser may hide the header from a page of another origin. */
function agree(bodyMs, headerMs) {
  return headerMs === undefined || (bodyMs <= headerMs && bodyMs >= headerMs - ROUNDING_MS);
}
/** How long the fields of a rejection ask to wait: the longest of the limits that have nothing left. */
function untilMore(statements) {
  const waits = statements.flatMap(({ remaining, moreAfterMs, allAfterMs }) =>
    remaining === 0 ? [moreAfterMs ?? allAfterMs ?? Number.NaN] : [],
  );
  return waits.length > 0 ? waits.reduce((a, b) => Math.max(a, b), 0) || undefined : undefined;
}
