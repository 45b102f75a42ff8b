import { readHttpDate } from './retry-after.js';
import { readInteger, readStringList } from './structured-list.js';

/** The value of a header field, all its lines joined by commas; undefined when there is none. */
export type ReadHeader = (name: string) => string | undefined;

/** What a response says of one limit. */
export interface Statement {
  /** Identifies the limit among those of the same responses. */
  readonly limit: string;
  /** Requests that the limit lets pass; Infinity when it counts something else and has some left. */
  readonly remaining: number;
  /** Milliseconds until the limit lets more pass; undefined when the response does not say. */
  readonly moreAfterMs?: number;
  /** Milliseconds until all of the limit is available, for fields that say only this. */
  readonly allAfterMs?: number;
  /** How many requests all of the limit is. */
  readonly all?: number;
  /** Whether charges may be refunded at any time: the times are at most estimates. */
  readonly estimated?: true;
}

/** A triple counts as one limit, under a name that no String of a field can have. */
const TRIPLE = '\ntriple';
/** A reset from here on is an instant: 2001 in seconds. Smaller ones are seconds from now. */
const FIRST_INSTANT = 1e9;
/** A reset from here on is an instant in milliseconds. */
const FIRST_MS = 1e12;
/** Limits of one response that a client takes in. */
const MAX_STATEMENTS = 16;

/**
 * What the fields of a response say of its limits: `RateLimit`, else `X-RateLimit-Limit`, `-Remaining` and `-Reset`, else the same
 * triple without `X-`, of older drafts.
 *
 * @param wallNow milliseconds since 1970, for a response without `Date`
 * @see draft-ietf-httpapi-ratelimit-headers-11, sections 3.1 and 4.1
 */
export function readStatements(header: ReadHeader, wallNow: () => number): readonly Statement[] {
  const field = header('ratelimit');
  const statements = field === undefined ? [] : readField(field, header('ratelimit-policy'));
  if (statements.length > 0) return statements;
  const triple = readTriple(header, 'x-ratelimit', wallNow) ?? readTriple(header, 'ratelimit', wallNow);
  return triple === undefined ? [] : [triple];
}

/** This function alone knows the names of the draft's parameters. */
function readField(field: string, policies: string | undefined): Statement[] {
  const units = new Map(readStringList(policies).map(({ name, parameters }) => [name, parameters.get('qu')]));
  const statements: Statement[] = [];
  for (const { name, parameters } of readStringList(field).slice(0, MAX_STATEMENTS)) {
    const remaining = readInteger(parameters.get('r'));
    if (remaining === undefined) continue;
    const seconds = readInteger(parameters.get('t'));
    const countsRequests = (units.get(name) ?? '"requests"') === '"requests"';
    statements.push({
      limit: `${name}${parameters.get('pk') ?? ''}`,
      // A rest of bytes or of concurrent requests says that no request passes only where it is 0.
      remaining: countsRequests || remaining === 0 ? remaining : Infinity,
      ...(seconds !== undefined && { moreAfterMs: seconds * 1000 }),
      ...(parameters.get('floodgate-estimated') === '?1' && { estimated: true }),
    });
  }
  return statements;
}

function readTriple(header: ReadHeader, prefix: string, wallNow: () => number): Statement | undefined {
  const remaining = readInteger(header(`${prefix}-remaining`)?.trim());
  if (remaining === undefined) return undefined;
  const all = readInteger(header(`${prefix}-limit`)?.trim());
  const reset = readInteger(header(`${prefix}-reset`)?.trim());
  return {
    limit: TRIPLE,
    remaining,
    ...(all !== undefined && { all }),
    ...(reset !== undefined && { allAfterMs: untilReset(reset, header('date'), wallNow) }),
    ...(header(`${prefix}-estimated`)?.trim() === 'true' && { estimated: true }),
  };
}

/** Compares an instant with the response's own `Date`: the clocks of client and server need not agree. */
function untilReset(reset: number, date: string | undefined, wallNow: () => number): number {
  if (reset < FIRST_INSTANT) return reset * 1000;
  const at = reset < FIRST_MS ? reset * 1000 : reset;
  return Math.max(0, at - (readHttpDate(date?.trim() ?? '', wallNow) ?? wallNow()));
}
