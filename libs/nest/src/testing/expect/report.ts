import { AssertionError } from 'node:assert';
import type { PolicyDecision } from 'floodgate';
import type { Exchange } from './exchange.js';
import type { LimitRequest } from './http-client.js';
import type { TestIdentity } from './identity-headers.js';

/** What an expectation is about, for its messages. */
export interface Subject {
  readonly request: LimitRequest;
  readonly identity: TestIdentity | undefined;
  /** The stack of the test that made the expectation. */
  readonly stack: string;
}

/** Requests that a message shows: the last ones tell the most. */
const SHOWN = 4;
const LIMIT_HEADER = /^(?:x-)?ratelimit|^retry-after$/;
const MAX_BODY = 200;

/** The error of an expectation that does not hold: what was expected, what happened, and the last requests. */
export function failure(
  { request, identity, stack }: Subject,
  expected: string,
  happened: string,
  exchanges: readonly Exchange[],
): AssertionError {
  const whom = identity === undefined ? '' : ` as ${shownIdentity(identity)}`;
  const lines = [
    `${request.method} ${request.path}${whom}`,
    `  expected: ${expected}`,
    `  happened: ${happened}`,
    '',
    ...table(exchanges),
  ];
  const error = new AssertionError({ message: lines.join('\n'), actual: happened, expected, operator: 'expectLimit' });
  // The test's own lines, which an asynchronous stack does not reach.
  error.stack = `AssertionError: ${error.message}\n${stack}`;
  return error;
}

/** The stack of the function that called the caller. */
export function callerStack(): string {
  const [, , , ...frames] = (new Error('stack').stack ?? '').split('\n');
  return frames.join('\n');
}

function table(exchanges: readonly Exchange[]): string[] {
  const start = exchanges[0]?.at ?? 0;
  const last = exchanges.at(-1);
  const rows = exchanges.slice(-SHOWN).map(({ number, at, reply, decisions }) => {
    const status = reply === undefined ? 'waits' : String(reply.status);
    const said = decisions.map(({ decision, source }) => {
      const by = source === 'store' ? '' : ` (${source})`;
      return decision.policies.length === 0
        ? `no policy${by}`
        : `${decision.policies.map(shownPolicy).join(', ')}${by}`;
    });
    return `  request ${number}, clock +${(at - start) / 1000} ms: ${status}; ${said.join('; ') || 'no decision'}`;
  });
  const headers = Object.entries(last?.reply?.headers ?? {}).filter(([name]) => LIMIT_HEADER.test(name));
  if (headers.length > 0) {
    rows.push(`  headers of request ${last!.number}: ${headers.map((pair) => pair.join(': ')).join(', ')}`);
  }
  const text = last?.reply?.text ?? '';
  if ((last?.reply?.status ?? 0) >= 400) rows.push(`  body of request ${last!.number}: ${text.slice(0, MAX_BODY)}`);
  return rows;
}

function shownPolicy(policy: PolicyDecision): string {
  const { policy: name, algorithm, limit, allowed, remaining, retryAfterMs, delayMs } = policy;
  const delay = delayMs > 0 ? `, delayed ${delayMs} ms` : '';
  const retry = retryAfterMs === null ? 'never passes' : `passes in ${retryAfterMs} ms`;
  return `'${name}' (${algorithm}) ${allowed ? `allows, ${remaining} of ${limit} left${delay}` : `rejects, ${retry}`}`;
}

function shownIdentity(identity: TestIdentity): string {
  return `{ ${Object.entries(identity)
    .map(([kind, value]) => `${kind}: '${value}'`)
    .join(', ')} }`;
}
