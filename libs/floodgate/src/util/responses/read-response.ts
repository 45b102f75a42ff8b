import { readRetryAfter } from './retry-after.js';
import { type ReadHeader, readStatements, type Statement } from './statements.js';

/** What a response tells of its limits. */
export interface LimitReport {
  readonly statements: readonly Statement[];
  /** Milliseconds that a 429 or 503 asks to wait; undefined for every other response. */
  readonly retryAfterMs?: number;
  /** `'exact'`: `retryAfterMs` is not rounded to seconds. `'estimated'`: the limit may free at any time. Default: rounded. */
  readonly precision?: 'exact' | 'estimated';
}

/** What a client reads in a response. */
export interface Answer {
  readonly status: number;
  readonly header: ReadHeader;
  /** What the body says of the wait; undefined when it does not say. */
  readonly body: BodyWait | undefined;
}

/** What the body of a rejection says. */
export interface BodyWait {
  /** Milliseconds to wait; null: the request can never pass. */
  readonly ms: number | null;
  /** Whether that is an estimate. */
  readonly estimated: boolean;
}

/** The methods that may be repeated (RFC 9110, section 9.2.2), and QUERY (draft-ietf-httpbis-safe-method-w-body). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'QUERY']);
/** `Retry-After` is the body's milliseconds rounded up to seconds, and at least 1. */
const ROUNDING_MS = 1000;

export interface Reading {
  readonly preemptive: boolean;
  readonly wallNow: () => number;
}

/** What an answer tells of its limits; undefined for a rejection that does not say when to come again. */
export function readAnswer(
  { status, header, body }: Answer,
  { preemptive, wallNow }: Reading,
): LimitReport | undefined {
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
export function mayRepeat(status: number, method: string, unsafeOn503: boolean): boolean {
  // A server answers 429 in place of the work, so that every method can be repeated (RFC 6585, section 4). A 503 may come from
  // a server that broke down in the middle of the work.
  return status === 429 || unsafeOn503 || IDEMPOTENT.has(method);
}

interface BodyWithMs {
  readonly retry_after_ms?: unknown;
  readonly 'retry-after-ms'?: unknown;
  readonly estimated?: unknown;
}

/** What Floodgate's bodies say of the wait; undefined for another body. */
export function readBody(body: unknown): BodyWait | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  // The second spelling is that of problem details.
  const { retry_after_ms: ms = (body as BodyWithMs)['retry-after-ms'], estimated } = body as BodyWithMs;
  const isWait = ms === null || (typeof ms === 'number' && ms >= 0 && ms <= Number.MAX_SAFE_INTEGER);
  return isWait ? { ms, estimated: estimated === true } : undefined;
}

/** Whether the header says the same in seconds. A browser may hide the header from a page of another origin. */
function agree(bodyMs: number, headerMs: number | undefined): boolean {
  return headerMs === undefined || (bodyMs <= headerMs && bodyMs >= headerMs - ROUNDING_MS);
}

/** How long the fields of a rejection ask to wait: the longest of the limits that have nothing left. */
function untilMore(statements: readonly Statement[]): number | undefined {
  const waits = statements.flatMap(({ remaining, moreAfterMs, allAfterMs }) =>
    remaining === 0 ? [moreAfterMs ?? allAfterMs ?? Number.NaN] : [],
  );
  return waits.length > 0 ? waits.reduce((a, b) => Math.max(a, b), 0) || undefined : undefined;
}
